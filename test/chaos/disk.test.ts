/** Fills up a disk and empties it again: the service accepts nothing new, and loses nothing old. */
import { execFileSync } from 'node:child_process'
import { closeSync, mkdtempSync, openSync, rmSync, writeSync } from 'node:fs'
import { readdir } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { ACME_LIVE, invoice, PATIENT_LIVE } from '../fixture/manifests.ts'
import { poll } from '../time/poll.ts'
import { startEmbedded } from '../topology/embedded.ts'
import { ended, reaches, render, request, submit } from '../topology/service.ts'

const DISK_MIB = 160
const isMountable = tryMount()

/** Mounts a disk in memory. Only root can do that. */
function tryMount(): boolean {
  const folder = mkdtempSync(join(tmpdir(), 'platen-mount-'))
  try {
    mount(folder)
    unmount(folder)
    return true
  } catch {
    return false
  } finally {
    rmSync(folder, { recursive: true })
  }
}

function mount(folder: string): void {
  execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${DISK_MIB}m`, 'platen-test', folder], { stdio: 'ignore' })
}

function unmount(folder: string): void {
  execFileSync('umount', ['--lazy', folder], { stdio: 'ignore' })
}

/** Writes until the disk does not accept another byte. */
function fill(file: string): void {
  const descriptor = openSync(file, 'w')
  try {
    for (let size = 1024 * 1024; size >= 1; size = Math.floor(size / 2)) writeWhilePossible(descriptor, size)
  } finally {
    closeSync(descriptor)
  }
}

function writeWhilePossible(descriptor: number, size: number): void {
  const block = Buffer.alloc(size)
  try {
    for (;;) writeSync(descriptor, block)
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'ENOSPC')) throw error
  }
}

test.skipIf(!isMountable)(
  'with a full disk renders are refused, and those accepted are kept and end when there is room (skipped where mounting a disk is not allowed)',
  async () => {
    const disk = mkdtempSync(join(tmpdir(), 'platen-disk-'))
    mount(disk)
    onTestFinished(() => {
      unmount(disk)
      rmSync(disk, { recursive: true })
    })
    const [dataDir, filler] = [join(disk, 'data'), join(disk, 'filler')]
    await using service = await startEmbedded({
      PLATEN_DATA_DIR: dataDir,
      PLATEN_RENDER_SLOTS: '2',
      PLATEN_METRICS_PORT: '0',
    })
    const readiness = () => request(service, { key: ACME_LIVE, path: '/readyz' })
    const order = { template: 'invoice', data: invoice(3) }
    await poll(readiness).until(({ status }) => status === 200)
    const before = await submit(service, ACME_LIVE, order)
    await ended(service, ACME_LIVE, before)
    const accepted = await Promise.all([
      submit(service, PATIENT_LIVE, { template: 'busy', data: { rounds: 4e6 } }),
      submit(service, PATIENT_LIVE, { template: 'busy', data: { rounds: 4e6 } }),
      submit(service, PATIENT_LIVE, { template: 'busy', data: { rounds: 10 } }),
    ])
    await reaches(service, { key: PATIENT_LIVE, id: accepted[0] ?? '', states: ['running'] })
    fill(filler)

    // The first refusal comes before the service has checked its disk, the others after.
    const refusals = [await render(service, ACME_LIVE, { ...order, mode: 'async' })]
    const full = await poll(readiness).until(({ status }) => status === 503)
    expect(full.json()).toEqual({ ready: false })
    expect(await (await fetch(`${service.probesUrl()}/readyz`)).json()).toMatchObject({
      ready: false,
      detail: { disk: 'full', engines: { react_pdf: 'running' } },
    })
    for (const mode of ['async', 'sync']) refusals.push(await render(service, ACME_LIVE, { ...order, mode }))
    for (const refusal of refusals) {
      expect([refusal.status, refusal.json()]).toMatchObject([503, { error: { code: 'RENDER_UNAVAILABLE' } }])
      expect(refusal.headers.get('retry-after')).toMatch(/^\d+$/)
    }
    expect((await request(service, { key: ACME_LIVE, path: '/livez' })).status).toBe(200)
    expect((await request(service, { key: ACME_LIVE, path: `/api/v1/render/${before}` })).status).toBe(200)
    // The first finished render cannot be stored. It is not rendered again.
    await poll(() => service.log()).until((log) => log.includes('dependency call failed, retrying'))

    rmSync(filler)
    for (const id of accepted) expect(await ended(service, PATIENT_LIVE, id)).toMatchObject({ status: 'succeeded' })
    await poll(readiness).until(({ status }) => status === 200)
    expect((await render(service, ACME_LIVE, order)).status).toBe(200)
    expect(await service.stop()).toBe(0)
    expect(service.log()).not.toMatch(/failed by a defect|render not completed/)
    expect(await readdir(join(dataDir, 'artifacts', '.tmp'))).toEqual([])
    // Refused renders are in no queue: `acme` has only its first and last render.
    const stored = await readdir(join(dataDir, 'artifacts', 'platen', 'manifest-by-hour'), { recursive: true })
    expect(stored.filter((name) => name.endsWith('.json'))).toHaveLength(accepted.length + 2)
  },
)
