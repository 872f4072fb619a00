/* oxlint-disable no-console, no-restricted-properties -- it is a program of its own */
// What `helm test` runs: is the API ready, and, given a key, does a render come back as a PDF?
const { SERVICE_URL, API_KEY, RENDER } = process.env
const ready = await fetch(`${SERVICE_URL}/readyz`)
if (!ready.ok) throw new Error(`the API is not ready: ${ready.status}`)
console.log('the API is ready')
if (API_KEY !== undefined) {
  const headers = { authorization: `Bearer ${API_KEY}`, 'content-type': 'application/json' }
  const answer = await fetch(`${SERVICE_URL}/api/v1/render`, { method: 'POST', headers, body: RENDER })
  const body = Buffer.from(await answer.arrayBuffer())
  if (!body.subarray(0, 5).equals(Buffer.from('%PDF-'))) throw new Error(`${answer.status}: ${body.toString()}`)
  console.log(`a PDF of ${body.length} bytes`)
}
