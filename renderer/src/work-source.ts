/** What a queue record points to, brought together for an engine: the template by its digest, and data too large to travel in the record. */
import assert from 'node:assert/strict'
import type { JsonObject } from '@platen/contract/brand.ts'
import type { ArtifactStore } from '@platen/contract/port/artifact-store.ts'
import { type RenderRecord, templateKey } from '@platen/contract/render.ts'
import type { TemplateDigest, TemplateSource } from '@platen/contract/tenant.ts'
import type { RenderWork } from './engine/engine.ts'

export interface WorkSource {
  /** Throws `Unavailable` when the artifact store cannot be reached. */
  workOf(record: RenderRecord, signal: AbortSignal): Promise<RenderWork>
  /** Removes what only this render needed, once it has ended. */
  sweep(record: RenderRecord, signal: AbortSignal): Promise<void>
}

/** Templates kept at hand, the least recently used given up first: at 128 KiB of source each, a few tens of MiB at most. */
const TEMPLATES_MAX = 200

export function openWorkSource(artifacts: ArtifactStore, serviceBucket: string): WorkSource {
  const templates = new Map<TemplateDigest, TemplateSource>()

  async function templateOf(digest: TemplateDigest, signal: AbortSignal): Promise<TemplateSource> {
    const template =
      templates.get(digest) ??
      (await read<TemplateSource>(artifacts, { bucket: serviceBucket, key: templateKey(digest) }, signal))
    templates.delete(digest)
    templates.set(digest, template)
    const [oldest] = templates.keys()
    if (templates.size > TEMPLATES_MAX && oldest !== undefined) templates.delete(oldest)
    return template
  }

  return {
    async workOf(record, signal) {
      const { digest } = record.template
      const template = await templateOf(digest, signal)
      const data =
        'inline' in record.data ? record.data.inline : await read<JsonObject>(artifacts, record.data.stored, signal)
      return {
        render: record.id,
        tenant: record.tenant,
        digest,
        template,
        data,
        options: { ...template.options, ...record.options },
      }
    },
    async sweep(record, signal) {
      if ('stored' in record.data) await artifacts.delete(record.data.stored, signal)
    },
  }
}

/** An object that this service wrote itself, before the record that names it. */
async function read<T>(
  artifacts: ArtifactStore,
  address: Parameters<ArtifactStore['get']>[0],
  signal: AbortSignal,
): Promise<T> {
  const bytes = await artifacts.get(address, signal)
  assert(bytes !== undefined, `no object at ${address.bucket}/${address.key}`)
  return JSON.parse(Buffer.from(bytes).toString()) as T
}
