/** A folder of manifests in a place of its own, followed as the embedded service does it, and what tests look at. */
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { memoryDirectory } from '@platen/adapters/memory/directory.ts'
import { systemClock } from '@platen/adapters/system/clock.ts'
import { systemIds } from '@platen/adapters/system/ids.ts'
import { templateKey } from '@platen/contract/domain/render.ts'
import type { TemplateChecker } from '@platen/contract/domain/template-check.ts'
import type { TenantId } from '@platen/contract/domain/tenant.ts'
import type { DirectoryPublisher } from '@platen/contract/port/directory.ts'
import { checkInTurns } from '@platen/renderer/engine/template-checker.ts'
import { openTemplateCheck } from '@platen/renderer/template/check.ts'
import { openSandbox } from '@platen/renderer/template/evaluate.ts'
import { openFolderChecks } from '@platen/settings/manifest/folder-checks.ts'
import { openManifests } from '@platen/settings/manifest/follow.ts'
import { MANIFEST_CHECKS_FIRST_MS, MANIFEST_CHECKS_LATER_MS } from '@platen/settings/manifest/limit.ts'
import { loadOrCreateKeyFile } from '@platen/settings/secrets.ts'
import { logTo, NEVER } from '../fixture/build.ts'
import { KEY, PLAN, TENANT, templateHead } from '../fixture/manifests.ts'
import { memoryArtifactStore } from '../fixture/memory/artifact-store.ts'

/** A plan, a tenant on it and a key of it, in one file. */
export const PLATFORM = [PLAN, TENANT, KEY].join('---\n')

/** A template that greets as told, by an html source. */
export function letter(text: string): string {
  return `${templateHead('letter')}  engine: Html\n  html: {template: {inline: "${text}"}}\n`
}

export interface Line {
  readonly message: string
  readonly fields: Readonly<Record<string, unknown>>
}

export type Folder = Awaited<ReturnType<typeof makeFolder>>

/** An empty folder of manifests, and one for data beside it. */
export async function makeFolder() {
  const root = await mkdtemp(join(tmpdir(), 'platen-manifests-'))
  const [own, dataDir] = [join(root, 'manifests'), join(root, 'data')]
  await mkdir(own)
  // Of every run on this folder, so that one after the other finds the templates of the one before.
  const artifacts = memoryArtifactStore()
  return {
    root,
    dir: own,
    dataDir,
    write: (name: string, text: string | Uint8Array) => writeFile(join(own, name), text),
    follow: (dir = own, ports: Pick<Followed, 'publisher' | 'checker'> = {}) =>
      follow({ dir, dataDir, artifacts, ...ports }),
    [Symbol.asyncDispose]: () => rm(root, { recursive: true, force: true }),
  }
}

interface Followed {
  readonly dir: string
  readonly dataDir: string
  readonly artifacts: ReturnType<typeof memoryArtifactStore>
  /** In place of a directory that takes whatever is published. */
  readonly publisher?: DirectoryPublisher
  /** In place of one in this thread, which nothing could end. */
  readonly checker?: TemplateChecker
}

/** Follows a folder. `logged` resolves with the first line of that message that nobody has asked for yet. */
async function follow({ dir, dataDir, artifacts, publisher, checker }: Followed) {
  const clock = systemClock()
  const own = openTemplateCheck(await openSandbox())
  const turns = { permits: 2, permitsPerTenant: 1 }
  const lines: Line[] = []
  let wake = Promise.withResolvers<void>()
  const log = logTo(({ message, fields }) => {
    lines.push({ message, fields })
    wake.resolve()
    wake = Promise.withResolvers<void>()
  })
  const directory = memoryDirectory()
  const manifests = await openManifests(
    {
      dir,
      dataDir,
      artifacts,
      publisher: publisher ?? directory,
      clock,
      ids: systemIds(),
      brand: 'service',
      sealKeys: [await loadOrCreateKeyFile(join(dataDir, 'seal-key'), 32, systemIds())],
      serviceBucket: 'platen',
      checks: openFolderChecks(checker ?? checkInTurns({ run: own, turns, clock }), clock),
      checkWaitMs: { first: MANIFEST_CHECKS_FIRST_MS, later: MANIFEST_CHECKS_LATER_MS },
      log,
    },
    NEVER,
  )
  let asked = lines.length
  return {
    lines,
    artifacts,
    current: () => directory.current(),
    async logged(message: string): Promise<Line['fields']> {
      for (;;) {
        const at = lines.findIndex((line, index) => index >= asked && line.message === message)
        const line = lines[at]
        if (line !== undefined) {
          asked = at + 1
          return line.fields
        }
        await wake.promise
      }
    },
    [Symbol.asyncDispose]: () => manifests[Symbol.asyncDispose](),
  }
}

/** The html sources of acme in force, read back from the artifact store as a renderer does. */
export async function letters({ current, artifacts }: Awaited<ReturnType<typeof follow>>): Promise<readonly string[]> {
  const templates = [
    ...(current()
      .templates.get('acme' as TenantId)
      ?.values() ?? []),
  ]
  const stored = templates.map(async ({ digest }) => {
    const bytes = await artifacts.get({ bucket: 'platen', key: templateKey(digest) }, NEVER)
    const source: { html: { template: string } } = JSON.parse(Buffer.from(bytes ?? []).toString())
    return source.html.template
  })
  return Promise.all(stored)
}
