/**
 * The request of a render whose tenant has `requestData: Stored`. Data, file name, webhook URL and labels are one object in the folder of
 * the render; the manifest of an ended render has all of it but the data. Both can be erased. Queue records, events and dead letters
 * cannot, so they have only the address of that object.
 */
import assert from 'node:assert/strict'
import { type Ended, type Labels, labelsOf, type RenderRecord } from './render.ts'

/** What may be personal in a request. */
export interface StoredRequest extends Labels {
  /** JSON text. */
  readonly data: Uint8Array
  readonly filename?: string
  readonly webhookUrl?: string
}

type RequestFields = Labels & Pick<RenderRecord, 'options' | 'webhookUrl' | 'requestData'>

const LINE_END = 0x0a

/** A line of JSON, then the data: so only the engine parses the data, which may be large. */
export function encodeRequest(data: Uint8Array, { options, webhookUrl, ...render }: RequestFields): Uint8Array {
  const line = JSON.stringify({ filename: options.filename, webhookUrl, ...labelsOf(render) })
  return Buffer.concat([Buffer.from(line), Buffer.of(LINE_END), data])
}

/** Only this service writes there, so unreadable content is a defect. */
export function decodeRequest(bytes: Uint8Array): StoredRequest {
  const end = bytes.indexOf(LINE_END)
  assert(end > 0, 'not a stored request')
  // Written by `encodeRequest`.
  const line = JSON.parse(Buffer.from(bytes.subarray(0, end)).toString()) as Omit<StoredRequest, 'data'>
  return { ...line, data: bytes.subarray(end + 1) }
}

/** A record or claim as it leaves the process: without the request if that is stored. */
export function withoutRequest<Render extends RequestFields>(render: Render): Render {
  if (render.requestData !== 'Stored') return render
  const { webhookUrl: _webhookUrl, reference: _reference, metadata: _metadata, ...rest } = render
  const { filename: _filename, ...options } = render.options
  // The missing fields are optional.
  return { ...rest, options } as Render
}

export function withRequest(record: RenderRecord, { filename, webhookUrl, ...request }: StoredRequest): RenderRecord {
  return {
    ...record,
    options: { ...record.options, ...(filename !== undefined && { filename }) },
    ...(webhookUrl !== undefined && { webhookUrl }),
    ...labelsOf(request),
  }
}

/** A manifest for an event. If the request is stored, it also lacks the messages of a failure and of warnings, which may quote the data. */
export function manifestOfEvent(manifest: Ended): Ended {
  const { render, outcome } = manifest
  if (render.requestData !== 'Stored') return manifest
  const bare = { ...manifest, render: withoutRequest(render) }
  const { warnings: _warnings, warningsOmitted: _omitted, ...ended } = outcome
  if (ended.status === 'succeeded') return { ...bare, outcome: ended }
  return { ...bare, outcome: { ...ended, error: { ...ended.error, message: '' } } }
}
