/** Faults of options. The messages never contain a key, a secret or the value of a header. */

/** White space that a file or a copy has added to a text. Undefined = none. */
export function edgeFaultOf(text: string): string | undefined {
  if (/\s$/.test(text)) return `white space at its end: trim the file's line end`
  if (/^\s/.test(text)) return 'white space at its beginning: trim it'
  if (/[\r\n]/.test(text)) return 'a line end inside: give one secret, or a list of them'
  return undefined
}

/** Throws `TypeError`. */
export function checkKey(apiKey: unknown): void {
  if (apiKey === undefined || apiKey === null || apiKey === '') {
    throw new TypeError('apiKey is missing: pass the API key, such as process.env.PLATEN_API_KEY')
  }
  if (typeof apiKey !== 'string') throw new TypeError('apiKey must be a text')
  const fault = edgeFaultOf(apiKey)
  if (fault !== undefined) throw new TypeError(`apiKey has ${fault}`)
  if (/\s/.test(apiKey)) throw new TypeError('apiKey has white space inside')
  if (!/^[\x21-\x7e]+$/.test(apiKey)) throw new TypeError('apiKey has a character that no API key has')
}

const EXAMPLE = 'such as https://pdf.example.com'

/** Throws `TypeError`. */
export function checkedUrl(baseUrl: string | URL | null | undefined): URL {
  if (baseUrl === undefined || baseUrl === null || baseUrl === '') {
    throw new TypeError(`baseUrl is missing: pass the address of the service, ${EXAMPLE}`)
  }
  const text = String(baseUrl).trim()
  if (!/^https?:\/\//i.test(text)) throw new TypeError(`baseUrl must begin with https:// or http://, ${EXAMPLE}`)
  try {
    return new URL(text)
  } catch {
    throw new TypeError(`baseUrl is not a URL: write it ${EXAMPLE}`)
  }
}

/** Throws `TypeError`. */
export function checkedRetries(retries: number): number {
  // This form also rejects NaN. Compared with NaN, no count of failures would ever be too high.
  if (!(retries >= 0)) throw new TypeError('retries must be a number from 0')
  return retries
}

/** Throws `TypeError`. */
export function checkedKey(idempotencyKey: string): string {
  if (/^[\x20-\x7e]{1,255}$/.test(idempotencyKey)) return idempotencyKey
  throw new TypeError('idempotencyKey must have 1 to 255 printable characters of ASCII')
}

/** Headers that the client or the runtime sets. */
const OWN_HEADERS: readonly string[] = [
  'accept-encoding',
  'authorization',
  'connection',
  'content-length',
  'content-type',
  'host',
  'idempotency-key',
  'transfer-encoding',
]

/** Returns the headers with their names in lower case. Throws `TypeError` if one is the client's own or cannot be sent. */
export function checkedHeaders(headers: Readonly<Record<string, string>> = {}): Record<string, string> {
  const checked = Object.entries(headers).map(([name, value]: [string, unknown]) => {
    const lower = name.toLowerCase()
    if (!/^[!#$%&'*+.^_`|~\w-]+$/.test(name)) {
      throw new TypeError('headers: a name must have letters, digits and dashes only')
    }
    if (lower === 'idempotency-key') throw new TypeError('headers: pass idempotency-key as idempotencyKey')
    if (OWN_HEADERS.includes(lower)) throw new TypeError(`headers: the client sets ${lower} itself`)
    if (typeof value !== 'string' || !/^[\t\x20-\x7e]*$/.test(value)) {
      throw new TypeError(`headers: the value of ${name} must be printable ASCII, without a line end`)
    }
    return [lower, value] as const
  })
  return Object.fromEntries(checked)
}
