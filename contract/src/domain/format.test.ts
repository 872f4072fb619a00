import { expect, test } from 'vitest'
import { aManifest, aRecord, NOON } from '../../../test/fixture/build.ts'
import { decodeBatchEnd, encodeBatchEnd } from '../stored/batch.ts'
import { decodeExpiry, expiryObjectOf } from '../stored/expiry.ts'
import { decodeClaim, encodeClaim } from '../stored/idempotency.ts'
import { decodeErasure, encodeErasure } from './erasure.ts'
import { decodeStored, encodeStored, FORMAT, NewerFormat, newerFormat } from './format.ts'
import { decodeManifest, encodeManifest } from './render.ts'

const NEWER = new NewerFormat(FORMAT + 1)

test.for([
  ['the format of this version', FORMAT, undefined],
  ['the text of it', String(FORMAT), undefined],
  ['the next one', FORMAT + 1, NEWER],
  ['the text of the next one', String(FORMAT + 1), NEWER],
  ['nothing', undefined, undefined],
  ['no number', 'new', undefined],
  ['not a number', Number.NaN, undefined],
  ['a text that is too long', '9'.repeat(10), undefined],
  ['a list', [FORMAT + 1], undefined],
] as const)('%s is newer or not', ([, stated, newer]) => {
  expect(newerFormat(stated)).toStrictEqual(newer)
})

test('an object is stored with its format, and read without it', () => {
  expect(JSON.parse(Buffer.from(encodeStored({ id: 'a' })).toString())).toStrictEqual({ version: FORMAT, id: 'a' })
  expect(decodeStored(encodeStored({ id: 'a' }))).toStrictEqual({ id: 'a' })
  expect(() => decodeStored(Buffer.from('{"id":"a"}'))).toThrow('it states no format')
})

const record = aRecord()
const { id, storage, account } = record

test.for([
  ['a manifest', encodeManifest(aManifest({ record })), decodeManifest],
  ['an idempotency claim', encodeClaim({ fingerprint: 'f', claimedAt: NOON, record }), decodeClaim],
  ['the end of a batch', encodeBatchEnd({ endedAt: NOON, succeeded: 1, failed: 0 }), decodeBatchEnd],
  ['a part of the expiry index', expiryObjectOf('2026-11-21', [{ id, storage, account }]).bytes, decodeExpiry],
  ['an erasure order', encodeErasure({ tenant: record.tenant, account, orderedAt: NOON, by: 'test' }), decodeErasure],
] as const)(
  '%s has a format; fields that are not known are ignored, and a higher format is refused, whatever it has become',
  ([, bytes, decode]) => {
    const written = JSON.parse(Buffer.from(bytes).toString())
    expect(written).toMatchObject({ version: FORMAT })
    const more = Buffer.from(JSON.stringify({ ...written, invented: { deep: [1] } }))
    expect(decode(more)).toMatchObject(decode(bytes))
    const newer = Buffer.from(JSON.stringify({ version: FORMAT + 1, everything: 'is different' }))
    expect(() => decode(newer)).toThrow(NEWER)
  },
)
