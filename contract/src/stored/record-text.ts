/**
 * The text of a queued record. Its data may be large, and their tenant decides how long parsing them takes. So they stay text from the
 * thread that checked them to the one that renders them. They come last in the record, where they are put in and cut out without being
 * parsed.
 */
import type { JsonObject } from '@platen/lib/brand.ts'
import type { RenderRecord } from '../domain/render.ts'

/** Smaller data are parsed with their record: they cost no more than the rest of it. */
const DATA_PARSED_BYTES_MAX = 1024

/** A shorter record is parsed as a whole. */
const RECORD_PARSED_CHARS_MAX = 4 * DATA_PARSED_BYTES_MAX

/** Before the data. No other member looks like this: quotes within a text are escaped, and only `data` has objects in it. */
const BEFORE = ',"data":{"inline":'
const AFTER = '}}'

/** `json` is the text of an object. */
export function inlineData(json: Uint8Array): Extract<RenderRecord['data'], { inline: unknown } | { text: unknown }> {
  const text = Buffer.from(json.buffer, json.byteOffset, json.byteLength).toString()
  // Callers pass an object.
  return json.length <= DATA_PARSED_BYTES_MAX ? { inline: JSON.parse(text) as JsonObject } : { text }
}

/** `textOf` is for a record without text. */
export function textOfRecord(
  record: RenderRecord,
  textOf: (record: RenderRecord) => string = (plain) => JSON.stringify(plain),
): string {
  const { data, ...rest } = record
  if (!('text' in data)) return textOf(record)
  const empty = textOf({ ...rest, data: { inline: {} } })
  return `${empty.slice(0, -`{}${AFTER}`.length)}${data.text}${AFTER}`
}

/** Splits off the text of the data, and leaves empty data. Undefined if that is not worth it, or not possible. */
export function splitRecord(text: string): { readonly empty: string; readonly data: string } | undefined {
  if (text.length <= RECORD_PARSED_CHARS_MAX || !text.endsWith(`}${AFTER}`)) return undefined
  const at = text.indexOf(BEFORE)
  if (at < 0) return undefined
  const data = text.slice(at + BEFORE.length, -AFTER.length)
  return { empty: `${text.slice(0, at)}${BEFORE}{}${AFTER}`, data }
}

/** The inverse of `textOfRecord`. Only this service writes there. */
export function recordOfText(text: string): RenderRecord {
  const split = splitRecord(text)
  if (split === undefined) return JSON.parse(text) as RenderRecord
  return { ...(JSON.parse(split.empty) as RenderRecord), data: { text: split.data } }
}
