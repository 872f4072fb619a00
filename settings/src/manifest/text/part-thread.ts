/** Worker thread: reads parts of a manifest file, and ends. */
import { parentPort, workerData } from 'node:worker_threads'
import { resourceReader } from '@platen/contract/schema/resource/reader.ts'
import { readPart } from './parse.ts'

// The parent thread passes texts.
const parts = workerData as readonly string[]
const read = resourceReader()
// As JSON: a text is transferred at once, while a megabyte of small values takes a fifth of a second.
parentPort?.postMessage(JSON.stringify(parts.map((part) => readPart(part, read))), [])
