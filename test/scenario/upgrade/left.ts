/**
 * What the version at commit e3e826d left when it was killed, while renders and deliveries waited. That version itself wrote it, in both
 * topologies; only data that was too large for its queue record is shortened. A change of what is stored must go on to read it. A later
 * release may replace it by what that one leaves.
 */
import { readText } from '../../architecture/source-tree.ts'

export type Texts = Readonly<Record<string, string>>

export interface Left {
  /** When it was killed, in epoch milliseconds. */
  readonly at: number
  /** Ids of its renders, by what became of them. */
  readonly renders: Texts
  readonly manifests: string
  /** The data folder, by path. */
  readonly files: Texts
  /** PDFs in base64, by path or key. */
  readonly pdfs: Texts
}

export interface LeftEmbedded extends Left {
  readonly sql: readonly string[]
}

export interface LeftCluster extends Left {
  readonly redis: Readonly<Record<string, string | Texts | readonly unknown[]>>
  readonly kafka: readonly {
    readonly topic: string
    readonly key: string
    readonly headers: Texts
    readonly value: string
  }[]
  /** Objects of the service's bucket, by their keys in S3. */
  readonly objects: Texts
}

/** Where the receiver of the webhooks was. */
export const RECEIVER = 'http://127.0.0.1:18443'

/** Reads what a topology left, as it was written. */
export function leftBy(topology: 'embedded'): LeftEmbedded
export function leftBy(topology: 'cluster'): LeftCluster
export function leftBy(topology: string): LeftEmbedded | LeftCluster {
  return JSON.parse(readText(`test/scenario/upgrade/${topology}.json`)) as LeftEmbedded | LeftCluster
}
