import { memoryArtifactStore } from '@platen/adapters/memory/artifact-store.ts'
import { type RenderOptions, templateKey } from '@platen/contract/render.ts'
import { expect, test } from 'vitest'
import { aRecord } from '../../../test/fixture/build.ts'
import { openWorkSource } from './work-source.ts'

const NEVER = new AbortController().signal

test.for([
  ['has the options of its template', {}, { page_size: 'A5', margin: { left: 10 } }],
  ['lays those of its request over them', { page_size: 'A4' }, { page_size: 'A4', margin: { left: 10 } }],
  ['replaces a margin as a whole', { margin: { top: 5 } }, { page_size: 'A5', margin: { top: 5 } }],
] as const)('a render %s', async ([, options, expected]) => {
  const artifacts = memoryArtifactStore()
  const own: RenderOptions = { page_size: 'A5', margin: { left: 10 } }
  const record = aRecord({ options })
  const address = { bucket: 'platen', key: templateKey(record.template.digest) }
  await artifacts.put(address, Buffer.from(JSON.stringify({ options: own })), NEVER)
  const work = await openWorkSource(artifacts, 'platen').workOf(record, NEVER)
  expect(work.options).toEqual(expected)
})
