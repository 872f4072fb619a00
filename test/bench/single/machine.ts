/**
 * What the machine did while something was measured. A late document is no fault of the service if its core stood still, as in a virtual
 * machine whose host is busy, or if another program had the core.
 */
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { cpuMsOf } from '../measure.ts'

export interface Machine extends AsyncDisposable {
  /** What it did since the last call, for people. */
  said(): Promise<string>
}

/** Watches each core by a process of its own that goes before all others there. That needs root; without it, stalls are not known. */
export async function watchMachine(): Promise<Machine> {
  const probes = (
    await Promise.all(Array.from({ length: availableParallelism() }, (_, core) => startProbe(core)))
  ).flat()
  let last = times()
  const said = async () => {
    const [longest, now] = [await Promise.all(probes.map(stallMsOf)), times()]
    const others = (now.busyMs - last.busyMs - (now.ownMs - last.ownMs)) / (now.allMs - last.allMs)
    last = now
    const stall = longest.length === 0 ? 'unknown' : `${Math.max(...longest).toFixed(1)} ms`
    return `longest stall of a core ${stall}, ${(others * 100).toFixed(0)} % of the cores used by others`
  }
  await said()
  return {
    said,
    async [Symbol.asyncDispose]() {
      for (const probe of probes) probe.disconnect()
    },
  }
}

async function startProbe(core: number): Promise<ChildProcess[]> {
  const execArgv = ['--fifo', '1', 'taskset', '--cpu-list', `${core}`, process.execPath]
  const probe = fork(new URL('../raw/stall.ts', import.meta.url), {
    execPath: 'chrt',
    execArgv,
    stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
  })
  // Without the program or the rights for it, there is no probe.
  probe.on('error', () => undefined)
  const none = (): ChildProcess[] => []
  return await Promise.race([stallMsOf(probe).then(() => [probe], none), once(probe, 'exit').then(none, none)])
}

async function stallMsOf(probe: ChildProcess): Promise<number> {
  probe.send('')
  const [longestMs] = (await once(probe, 'message')) as [number]
  return longestMs
}

/** Of all cores since the machine started, and of this process and all it started. Time that the host took away counts as busy. */
function times(): { readonly busyMs: number; readonly allMs: number; readonly ownMs: number } {
  const [first = ''] = readFileSync('/proc/stat', 'utf8').split('\n')
  // user, nice, system, idle, iowait, irq, softirq, steal; in hundredths of a second.
  const ticks = first.split(/\s+/).slice(1, 9).map(Number)
  const allMs = ticks.reduce((sum, each) => sum + each, 0) * 10
  const idleMs = ((ticks[3] ?? 0) + (ticks[4] ?? 0)) * 10
  return { busyMs: allMs - idleMs, allMs, ownMs: cpuMsOf([process.pid]) }
}
