/**
 * Rotations, which are asked for by an annotation of the resource: a time that was not asked for before. The Secret says which
 * of them it has served, in the same write that serves them, so that one is never served twice, whoever dies when. Pure.
 */
import type { Instant } from '@platen/contract/brand.ts'
import { INSTANT_FORMAT, parseInstant } from '@platen/contract/instant.ts'
import { SECRET_ROTATIONS_KEPT_MAX } from './limit.ts'

/** Annotation of a Secret: the rotations it has served, the last one at the end. */
export const SERVED_ANNOTATION = 'platen.dev/rotated'
/** Annotation of a Secret: until when the key or secret counts that was replaced last. */
export const PREVIOUS_UNTIL_ANNOTATION = 'platen.dev/previous-until'

export type Annotations = Readonly<Record<string, string>>

/** A rotation somebody asks for. */
export interface RotationRequest {
  readonly at: Instant
  /** As it was written. */
  readonly text: string
}

/** What an annotation asks for. No schema checks annotations, so what makes no sense is told here, and asks for nothing. */
export function readRotationRequest(
  annotations: Annotations,
  name: string,
): { readonly asked?: RotationRequest; readonly ignored?: string } {
  const text = annotations[name]
  if (text === undefined) return {}
  const at = parseInstant(text)
  if (at !== undefined) return { asked: { at, text } }
  return { ignored: `annotation ${name} asks for no rotation: it must be ${INSTANT_FORMAT}` }
}

/** The rotations a Secret says it has served. */
export function servedRotations(annotations: Annotations): readonly Instant[] {
  const texts = annotations[SERVED_ANNOTATION]?.split(',') ?? []
  return texts.flatMap((text) => parseInstant(text.trim()) ?? [])
}

/** Until when what was replaced last counts, by what the Secret says. */
export function overlapEndIn(annotations: Annotations): Instant | undefined {
  return parseInstant(annotations[PREVIOUS_UNTIL_ANNOTATION] ?? '')
}

/** How a Secret says both. */
export function rotationAnnotations(
  served: readonly Instant[],
  overlapEnd: Instant | undefined,
): Readonly<Record<string, string | undefined>> {
  return {
    [SERVED_ANNOTATION]: served.length === 0 ? undefined : served.map(formatInstant).join(','),
    [PREVIOUS_UNTIL_ANNOTATION]: overlapEnd === undefined ? undefined : formatInstant(overlapEnd),
  }
}

/** What has been served with another one, of which the oldest are forgotten. */
export function withServed(served: readonly Instant[], at: Instant | undefined): readonly Instant[] {
  return at === undefined || served.includes(at) ? served : [...served, at].slice(-SECRET_ROTATIONS_KEPT_MAX)
}

/** The last rotation served, for `status.rotation`: in the words of whoever asked for it, as far as they are known. */
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
