/**
 * Rotation requests. An annotation of the resource requests one with a time that was not requested before. The Secret records the rotations
 * it has served, in the same write that serves them. So no rotation is served twice, even if a process dies at any point. Pure.
 */
import type { Instant } from '@platen/lib/brand.ts'
import { INSTANT_FORMAT, parseInstant } from '@platen/lib/instant.ts'

/** Served rotations that a Secret remembers, so that none is served twice. Nobody goes back further than this in a manifest. */
export const SECRET_ROTATIONS_KEPT_MAX = 32

/** Annotation of a Secret: the rotations it has served, the last one at the end. */
export const SERVED_ANNOTATION = 'platen.dev/rotated'
/** Annotation of a Secret: until when the last replaced key or secret is valid. */
export const PREVIOUS_UNTIL_ANNOTATION = 'platen.dev/previous-until'

export type Annotations = Readonly<Record<string, string>>

export interface RotationRequest {
  readonly at: Instant
  /** The original text of the annotation. */
  readonly text: string
}

/** No schema checks the annotation, so this function reports an invalid one, which then has no effect. */
export function readRotationRequest(
  text: string | undefined,
  name: string,
): { readonly asked?: RotationRequest; readonly ignored?: string } {
  if (text === undefined) return {}
  const at = parseInstant(text)
  if (at !== undefined) return { asked: { at, text } }
  return { ignored: `annotation ${name} requests no rotation: it must be ${INSTANT_FORMAT}` }
}

export function servedRotations(annotations: Annotations): readonly Instant[] {
  const texts = annotations[SERVED_ANNOTATION]?.split(',') ?? []
  return texts.flatMap((text) => parseInstant(text.trim()) ?? [])
}

/** Until when the last replaced value is valid, according to the Secret. */
export function overlapEndIn(annotations: Annotations): Instant | undefined {
  return parseInstant(annotations[PREVIOUS_UNTIL_ANNOTATION] ?? '')
}

export function rotationAnnotations(
  served: readonly Instant[],
  overlapEnd: Instant | undefined,
): Readonly<Record<string, string | undefined>> {
  return {
    [SERVED_ANNOTATION]: served.length === 0 ? undefined : served.map(formatInstant).join(','),
    [PREVIOUS_UNTIL_ANNOTATION]: overlapEnd === undefined ? undefined : formatInstant(overlapEnd),
  }
}

/** Drops the oldest rotations over the limit. */
export function withServed(served: readonly Instant[], at: Instant | undefined): readonly Instant[] {
  return at === undefined || served.includes(at) ? served : [...served, at].slice(-SECRET_ROTATIONS_KEPT_MAX)
}

/** The last rotation served, for `status.rotation`: in the original text of the request, if that is known. */
export function servedRotationText(
  served: readonly Instant[],
  texts: readonly (string | undefined)[],
): string | undefined {
  const last = served.at(-1)
  if (last === undefined) return undefined
  return texts.find((text) => text !== undefined && parseInstant(text) === last) ?? formatInstant(last)
}

export function formatInstant(at: Instant): string {
  return new Date(at).toISOString()
}
