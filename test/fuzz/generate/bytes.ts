/** Bytes as they come over a network or out of a file, and what becomes of them on a bad way. */
import * as fc from 'fast-check'

/** Where something happens is a share of the length, so that an edit means something after another one. */
export interface Edit {
  readonly at: number
  readonly does: 'set' | 'insert' | 'remove' | 'repeat' | 'flip'
  /** Base64. */
  readonly bytes: string
  readonly count: number
}

const share = fc.nat(65_535).map((part) => part / 65_536)
const handful = fc.oneof(
  fc.uint8Array({ maxLength: 8 }),
  fc
    .constantFrom([0xff, 0xff, 0xff, 0xff], [0, 0, 0, 0], [0x7f, 0xff, 0xff, 0xff], [0x80, 0, 0, 0])
    .map((bytes) => Uint8Array.from(bytes)),
)

export const edits = fc.array(
  fc.record<Edit>({
    // Headers and directories are at the front.
    at: fc.oneof(
      share,
      share.map((part) => part / 100),
    ),
    does: fc.constantFrom('set', 'set', 'flip', 'insert', 'remove', 'repeat'),
    bytes: handful.map((bytes) => Buffer.from(bytes).toString('base64')),
    count: fc.oneof(fc.nat(16), fc.nat(4096)),
  }),
  { minLength: 1, maxLength: 4 },
)

export function edited(bytes: Uint8Array, by: readonly Edit[]): Buffer {
  return by.reduce((before: Buffer, { at, does, bytes: base64, count }) => {
    const place = Math.floor(at * before.length)
    const given = Buffer.from(base64, 'base64')
    const [front, back] = [before.subarray(0, place), before.subarray(place)]
    switch (does) {
      case 'set':
        return Buffer.concat([front, given, back.subarray(given.length)])
      case 'flip':
        return Buffer.concat([front, back.subarray(0, 1).map((byte) => byte ^ (1 << (count % 8))), back.subarray(1)])
      case 'insert':
        return Buffer.concat([front, given, back])
      case 'remove':
        return Buffer.concat([front, back.subarray(count)])
      case 'repeat':
        return Buffer.concat([front, back.subarray(0, count), back])
    }
  }, Buffer.from(bytes))
}
