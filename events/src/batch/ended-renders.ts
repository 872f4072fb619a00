import { VIEW_KEPT_MS } from '@platen/contract/domain/limit.ts'
import { decodeManifest, manifestAddress, type Outcome, UnreadableManifest } from '@platen/contract/domain/render.ts'
import { issuedAt, type RenderId } from '@platen/contract/domain/render-id.ts'
import type { ArtifactStore } from '@platen/contract/port/artifact-store.ts'
import type { Instant } from '@platen/lib/brand.ts'
import type { Clock } from '@platen/lib/clock.ts'
import { forEachConcurrently } from '@platen/lib/for-each-concurrently.ts'

/** Manifests that are read at once for one batch. A store serves hundreds at once. */
const MANIFESTS_AT_ONCE = 32

export interface EndedRenders {
  /** Those that had not ended at the last look. */
  readonly pending: readonly RenderId[]
  readonly succeeded: number
  readonly failed: number
  /** When the last ended render of the batch ended; 0 if none did. */
  readonly endedAt: Instant
}

interface ManifestPorts {
  readonly artifacts: Pick<ArtifactStore, 'get'>
  readonly serviceBucket: string
  readonly clock: Pick<Clock, 'now'>
}

export function noneEnded(renders: readonly RenderId[]): EndedRenders {
  return { pending: renders, succeeded: 0, failed: 0, endedAt: 0 }
}

/**
 * Adds the renders that have ended since. Renders end more or less in their order. So the first pending one is asked for alone, then many
 * at once, and none after a group with a pending one.
 */
export async function withMoreEnded(
  known: EndedRenders,
  ports: ManifestPorts,
  signal: AbortSignal,
): Promise<EndedRenders> {
  let [left, { succeeded, failed, endedAt }] = [[...known.pending], known]
  const waiting: RenderId[] = []
  for (let size = 1; left.length > 0 && waiting.length === 0; size = MANIFESTS_AT_ONCE) {
    const asked = left.slice(0, size)
    left = left.slice(size)
    const ends = new Map<RenderId, End | undefined>()
    await forEachConcurrently(asked, MANIFESTS_AT_ONCE, async (id) => ends.set(id, await endOf(id, ports, signal)))
    for (const id of asked) {
      const end = ends.get(id)
      if (end === undefined) waiting.push(id)
      else if (end.status === 'succeeded') succeeded++
      else failed++
      endedAt = Math.max(endedAt, end?.finishedAt ?? 0)
    }
  }
  return { pending: [...waiting, ...left], succeeded, failed, endedAt }
}

type End = Pick<Outcome, 'status' | 'finishedAt'>

/** Undefined while the render may still end. */
async function endOf(
  id: RenderId,
  { artifacts, serviceBucket, clock }: ManifestPorts,
  signal: AbortSignal,
): Promise<End | undefined> {
  const bytes = await artifacts.get(manifestAddress(id, serviceBucket), signal)
  try {
    if (bytes !== undefined) return decodeManifest(bytes).outcome
  } catch (error) {
    // The caller of the render gets the answer of a defect.
    if (!(error instanceof UnreadableManifest)) throw error
    return { status: 'failed', finishedAt: 0 }
  }
  // Without a manifest after this time, no renderer took the render in time, or it is removed already.
  return clock.now() - issuedAt(id) < VIEW_KEPT_MS ? undefined : { status: 'failed', finishedAt: 0 }
}
