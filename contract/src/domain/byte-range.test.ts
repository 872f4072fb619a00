import { describe, expect, test } from 'vitest'
import { selectBytes } from './byte-range.ts'

const SHA256 = 'a'.repeat(64)
const ETAG = `"${SHA256}"`
const ANOTHER = `"${'b'.repeat(64)}"`
const DOCUMENT = { sha256: SHA256, bytes: 1000 }

const select = (headers: Record<string, string>, method = 'GET') => selectBytes({ method, headers }, DOCUMENT)
const WHOLE = { status: 200, range: { start: 0, end: 999 } }

describe('Range', () => {
  test.for<[string, number, number]>([
    ['bytes=0-0', 0, 0],
    ['bytes=0-499', 0, 499],
    ['bytes=500-', 500, 999],
    ['bytes=999-', 999, 999],
    ['bytes=-1', 999, 999],
    ['bytes=-1000', 0, 999],
    ['bytes=-1001', 0, 999],
    ['bytes=0-1000', 0, 999],
    ['Bytes=1-2', 1, 2],
    [`bytes=0-${'9'.repeat(10_000)}`, 0, 999],
    [`bytes=-${'9'.repeat(10_000)}`, 0, 999],
  ])('%s is answered with bytes %i to %i', ([range, start, end]) => {
    expect(select({ range })).toEqual({
      status: 206,
      headers: {
        etag: ETAG,
        'accept-ranges': 'bytes',
        'content-length': end - start + 1,
        'content-range': `bytes ${start}-${end}/1000`,
      },
      range: { start, end },
    })
  })

  test.for(['bytes=1000-', 'bytes=1000-2000', `bytes=${'9'.repeat(10_000)}-`, 'bytes=-0'])(
    '%s has no byte of the document',
    (range) => {
      const headers = { 'content-range': 'bytes */1000' }
      expect(() => select({ range })).toThrow(expect.objectContaining({ code: 'RANGE_NOT_SATISFIABLE', headers }))
    },
  )

  test.for([
    '',
    'bytes',
    'bytes=',
    'bytes=-',
    'bytes=a-b',
    'bytes=5-2',
    'bytes=2000-1999',
    'bytes=0x1-2',
    'bytes=1.5-2',
    'bytes= 1-2',
    'bytes=0-1,5-6',
    `bytes=${'0-,'.repeat(5000)}0-`,
    'pages=1-2',
    'undefined',
  ])('%s is ignored', (range) => {
    expect(select({ range })).toMatchObject({ ...WHOLE, headers: { etag: ETAG, 'content-length': 1000 } })
  })

  test('is ignored in a HEAD, which has no body', () => {
    const headers = { etag: ETAG, 'accept-ranges': 'bytes', 'content-length': 1000 }
    expect(select({ range: 'bytes=0-1' }, 'HEAD')).toEqual({ status: 200, headers })
  })
})

describe('If-Range', () => {
  const range = 'bytes=0-1'
  test('of the same document gives the range', () => {
    expect(select({ range, 'if-range': ETAG }).status).toBe(206)
  })

  test.for([ANOTHER, `W/${ETAG}`, SHA256, '*', '', 'Wed, 25 Nov 2026 12:00:00 GMT'])(
    '%s gives the whole',
    (ifRange) => {
      expect(select({ range, 'if-range': ifRange })).toMatchObject(WHOLE)
    },
  )
})

describe('If-None-Match', () => {
  test.for([ETAG, `W/${ETAG}`, '*', `${ANOTHER}, ${ETAG}`, `${ANOTHER},W/${ETAG}`])('%s is answered 304', (known) => {
    for (const method of ['GET', 'HEAD']) {
      expect(select({ 'if-none-match': known, range: 'bytes=5000-' }, method)).toEqual({
        status: 304,
        headers: { etag: ETAG },
      })
    }
  })

  test.for([ANOTHER, SHA256, '', `"${ETAG}"`, ','.repeat(16_000)])('%s gives the document', (known) => {
    expect(select({ 'if-none-match': known })).toMatchObject(WHOLE)
  })
})
