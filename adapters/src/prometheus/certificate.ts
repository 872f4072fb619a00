/** Metric of the expiry of certificates that a process trusts instead of, or in addition to, the public authorities. */
import { X509Certificate } from 'node:crypto'
import { Gauge } from 'prom-client'
import type { Metrics } from './metrics.ts'

/** The services whose certificates they verify. */
const PARTIES = ['kafka', 'redis', 'receivers'] as const
export type Certificates = Partial<Record<(typeof PARTIES)[number], string | undefined>>

/** Registers the gauge: one series for each PEM given, as read at the start. Call once per `metrics`. */
export function gaugeCertificates({ registry }: Metrics, certificates: Certificates): void {
  const gauge = new Gauge({
    name: 'platen_certificate_expiry_timestamp_seconds',
    help: 'Unix time at which the first certificate of a CA file expires; absent if no file is set.',
    labelNames: ['vouches_for'],
    registers: [registry],
  })
  for (const party of PARTIES) {
    const ends = endsOf(certificates[party] ?? '')
    if (ends.length > 0) gauge.set({ vouches_for: party }, Math.min(...ends) / 1000)
  }
}

function endsOf(pem: string): readonly number[] {
  const blocks = pem.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g) ?? []
  return blocks.map((block) => Date.parse(new X509Certificate(block).validTo))
}
