/** Makes the blocking client of the Python package from its client for asyncio: they differ in a few words only. */

const WORDS: readonly (readonly [RegExp, string])[] = [
  [
    /^"""[^]*?"""/,
    '"""The blocking client. Made from `_async_client` by `npx vitest run test/docs.test.ts -u`; do not edit."""',
  ],
  [/\basync (def|with|for)\b/g, '$1'],
  [/``async with``/g, '``with``'],
  [/\bawait /g, ''],
  [/\bAsync(Platen|Iterator|Client)\b/g, '$1'],
  [/\bAsyncDriver\b/g, 'SyncDriver'],
  [/\b__a(enter|exit)__\b/g, '__$1__'],
]

/** The text of `_client.py`, from the text of `_async_client.py`. */
export function blockingOf(source: string): string {
  return WORDS.reduce((text, [word, other]) => text.replace(word, other), source)
}
