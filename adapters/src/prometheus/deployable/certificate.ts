/** Metric of the certificates that a process trusts instead of, or in addition to, the public authorities. */
import { X509Certificate } from 'node:crypto'
import type { Metrics } from '../registry.ts'

/** The services whose certificates they verify. */
const PARTIES = ['kafka', 'redis', 'receivers'] as const
export type Certificates = Partial<Record<(typeof PARTIES)[number], string | undefined>>

/** Registers the gauge: one series for each PEM given, as read at the start. Call once per `metrics`. */
export function gaugeCertificates(metrics: Metrics, certificates: Certificates): void {
  const gauge = metrics.gauge(
    'platen_certificate_expiry_timestamp_seconds',
    'Unix time at which the first certificate of a CA file expires; absent if no file is set.',
    { vouches_for: [] },
  )
  for (const party of PARTIES) {
    const ends = endsOf(certificates[party] ?? '')
    if (ends.length > 0) gauge.set({ vouches_for: party }, Math.min(...ends) / 1000)
  }
}

function endsOf(pem: string): readonly number[] {
  const blocks = pem.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g) ?? []
  return blocks.map((block) => Date.parse(new X509Certificate(block).validTo))
}
