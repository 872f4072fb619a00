/** The service over hours, in minutes: mixed renders one after the other, and what is left of each. */
import { mkdtempDisposable, readdir, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { manifestOf } from '../fixture/manifests.ts'
import { poll } from '../time/poll.ts'
import { type EmbeddedService, startEmbedded } from '../topology/embedded.ts'
import { ended, published, render, request } from '../topology/service.ts'
import { calmRenderOf, HOSTILE, RESOURCES, renderOf, type SoakRender } from './document.ts'
import { membersOf, pssOf, treeOf } from './process-tree.ts'

export interface SoakOptions {
  readonly renders: number
  /** The number of renders between samples of the memory. The first sample is the level for all others. */
  readonly every: number
  /** Renders right before each sample; 40 if absent. */
  readonly calm?: number
  readonly onSample?: (sample: Sample) => void
}

export interface Sample {
  readonly renders: number
  /** Memory of the whole tree, in bytes, when nothing is being rendered; and how much of it is the service's own process. */
  readonly pss: number
  readonly servicePss: number
  readonly processes: number
}

export interface SoakReport {
  readonly samples: readonly Sample[]
  /** Renders that ended otherwise than expected, the first of each kind in words. */
  readonly surprises: readonly string[]
  /** Renders that were under way at the same time in each engine, afterwards. */
  readonly atOnce: Readonly<Record<'react_pdf' | 'html', number>>
  /** What was there when the service had stopped: processes, profiles, temporary files. */
  readonly strays: readonly string[]
  readonly exitCode: number | null
  readonly log: string
}

/** Renders at once that callers ask for: more than there are slots, so that some always wait. */
const LANES = 6
export const SLOTS = 2
const CALM = 40
/** So many renders from the first show every template of everybody. */
const FIRST = 200

export async function soak({ renders, every, calm = CALM, onSample }: SoakOptions): Promise<SoakReport> {
  const temporary = await mkdtempDisposable(join(tmpdir(), 'platen-soak-'))
  await using _folder = temporary
  await using service = await startEmbedded({ PLATEN_RENDER_SLOTS: `${SLOTS}`, TMPDIR: temporary.path })
  await writeFile(join(service.manifestsDir, 'soak.yaml'), manifestOf(RESOURCES))
  for (const { key, body } of Array.from({ length: FIRST }, (_, index) => renderOf(index)))
    await published(service, key, body.template)

  const samples: Sample[] = []
  const surprises = new Set<string>()
  const groups = new Set<number>()
  for (let done = 0; done < renders; done += every) {
    const mixed = Array.from({ length: every }, (_, index) => renderOf(done + index))
    await renderAll(service, mixed, surprises)
    await renderAll(
      service,
      Array.from({ length: calm }, (_, index) => calmRenderOf(index)),
      surprises,
    )
    const tree = treeOf(service.pid())
    for (const { group } of tree) groups.add(group)
    const servicePss = pssOf(tree.filter(({ pid }) => pid === service.pid()))
    const sample = { renders: done + every, pss: pssOf(tree), servicePss, processes: tree.length }
    samples.push(sample)
    onSample?.(sample)
  }
  const atOnce = { react_pdf: await slotsOf(service, 'react_pdf'), html: await slotsOf(service, 'html') }
  for (const { group } of treeOf(service.pid())) groups.add(group)
  // The group of this process is that of the service, too, and of whatever else a shell has started with them.
  groups.delete(treeOf(process.pid).find(({ pid }) => pid === process.pid)?.group ?? 0)
  const exitCode = await service.stop()
  return {
    samples,
    surprises: [...surprises],
    atOnce,
    strays: await straysOf(service, { groups, temporary: temporary.path }),
    exitCode,
    log: service.log(),
  }
}

/** Renders a few at a time; resolves when the last has ended. */
async function renderAll(
  service: EmbeddedService,
  renders: readonly SoakRender[],
  surprises: Set<string>,
): Promise<void> {
  // All draw from the one iterator.
  const rest = renders.values()
  const lane = async () => {
    for (const wanted of rest) {
      const outcome = await outcomeOf(service, wanted)
      const { template, engine } = wanted.body
      if (wanted.expected.some((expected) => outcome.startsWith(expected))) continue
      surprises.add(`${template} in ${engine}: ${outcome}`)
    }
  }
  await Promise.all(Array.from({ length: LANES }, lane))
}

/** A status, the code of a failure with its message, or `gone`. */
async function outcomeOf(service: EmbeddedService, { key, body, leaves }: SoakRender): Promise<string> {
  if (leaves === true) return await hangUp(service, key, body)
  // Others may have all the slots for longer than a sync render waits for one.
  const ask = () => render(service, key, body)
  const answer = await poll(ask).until(({ status }) => status !== 503)
  if (answer.status === 202) {
    const { status, error } = await ended(service, key, String(answer.json()['render_id']))
    return status === 'succeeded' ? '202' : `${error?.code}: ${error?.message}`
  }
  if (answer.status === 200) return '200'
  const { error } = answer.json() as { error: { message: string } }
  return answer.status === 500 ? error.message : `${answer.status} ${error.message}`
}

/** Sends a render and breaks the connection when it has surely begun. */
async function hangUp(service: EmbeddedService, key: string, body: object): Promise<string> {
  const controller = new AbortController()
  const answer = request(service, { key, body, signal: controller.signal })
  setTimeout(() => controller.abort(), 700)
  return await answer.then(
    ({ status }) => `${status}`,
    () => 'gone',
  )
}

/** How many renders that do not end by themselves an engine has under way at once, when it is given as many as it should have slots. */
async function slotsOf(service: EmbeddedService, engine: 'react_pdf' | 'html'): Promise<number> {
  const name = engine === 'html' ? 'endless-script' : 'endless-component'
  const ids = await Promise.all(
    Array.from({ length: SLOTS }, async () => {
      const answer = await render(service, HOSTILE, { template: name, engine, data: {}, mode: 'async' })
      return String(answer.json()['render_id'])
    }),
  )
  let most = 0
  const readStatuses = async () => {
    const records = await Promise.all(ids.map((id) => request(service, { key: HOSTILE, path: `/api/v1/render/${id}` })))
    const statuses = records.map((record) => record.json()['status'])
    most = Math.max(most, statuses.filter((status) => status === 'running').length)
    return statuses
  }
  await poll(readStatuses).until((statuses) => statuses.every((status) => status === 'failed'))
  return most
}

async function straysOf(
  { dataDir }: EmbeddedService,
  { groups, temporary }: { groups: ReadonlySet<number>; temporary: string },
): Promise<readonly string[]> {
  const processes = membersOf(...groups).map(({ pid, command }) => `process ${pid}: ${command.slice(0, 100)}`)
  const profiles = (await readdir(join(dataDir, 'chromium'))).filter((name) => name.startsWith('browser-'))
  const drafts = await readdir(join(dataDir, 'artifacts', '.tmp'))
  const files = await readdir(temporary)
  return [...processes, ...[...profiles, ...drafts, ...files].map((name) => `file ${name}`)]
}
