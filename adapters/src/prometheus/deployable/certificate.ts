/** Metric of the certificates that a process trusts instead of, or in addition to, the public authorities, and of its own. */
import { X509Certificate } from 'node:crypto'
import type { Metrics } from '../registry.ts'

const PARTIES = ['kafka', 'redis', 's3', 'receivers'] as const

/** As PEM. */
interface Certificates {
  readonly ca?: string | undefined
  readonly cert?: string | undefined
}
type CertificatesOf = Partial<Record<(typeof PARTIES)[number], Certificates | undefined>>

/** One series for each party with files. Calls `latest` at each scrape. */
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
