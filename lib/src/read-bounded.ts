/**
 * Undefined if the body is longer; then reads no further. Throws what the source throws. The limit also holds for a source that announces
 * no length, or a wrong one.
 */
export async function readBounded(source: AsyncIterable<Uint8Array>, bytesMax: number): Promise<Buffer | undefined> {
  const chunks: Uint8Array[] = []
  let bytes = 0
  for await (const chunk of source) {
    bytes += chunk.byteLength
    if (bytes > bytesMax) return undefined
    chunks.push(chunk)
  }
  return Buffer.concat(chunks, bytes)
}
