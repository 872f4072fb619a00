/** Metrics of the connections of a process: Redis, the certificates that it trusts instead of the public authorities, and its own. */
import { X509Certificate } from 'node:crypto'
import type { Metrics } from './registry.ts'

/** Registers the gauge. Calls `isDown` at each scrape. Call once per `metrics`. */
export function gaugeRedis(metrics: Metrics, { isDown }: { isDown: () => boolean }): void {
  const help = '1 while Redis answers and takes writes, else 0.'
  metrics.observableGauge('platen_redis_up', help, () => (isDown() ? 0 : 1))
}

/** Whose certificates they verify, or to whom they name this process. */
const PARTIES = ['kafka', 'redis', 's3', 'receivers'] as const

/** The files for one party, as PEM. */
interface Certificates {
  readonly ca?: string | undefined
  readonly cert?: string | undefined
}
export type CertificatesOf = Partial<Record<(typeof PARTIES)[number], Certificates | undefined>>

/** Registers the gauge: one series for each party with files. Calls `latest` at each scrape. Call once per `metrics`. */
export function gaugeCertificates(metrics: Metrics, latest: () => CertificatesOf): void {
  const read = () => {
    const certificates = latest()
    const ends = PARTIES.map((party) => {
      const { ca = '', cert = '' } = certificates[party] ?? {}
      return [party, Math.min(...endsOf(ca + cert)) / 1000] as const
    })
    return Object.fromEntries(ends.filter(([, end]) => Number.isFinite(end)))
  }
  metrics.labelledGauge(
    'platen_certificate_expiry_timestamp_seconds',
    'Unix time at which the first certificate of a CA file or client certificate expires; absent if no file is set.',
    { label: 'vouches_for', read },
  )
}

function endsOf(pem: string): readonly number[] {
  const blocks = pem.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g) ?? []
  return blocks.map((block) => Date.parse(new X509Certificate(block).validTo))
}
