/** `make soak`: what two thousand mixed renders, one in ten hostile, leave behind. RENDERS=500 makes fewer. */
import { type Sample, SLOTS, soak } from './soak.ts'

const EVERY = 200
/** How far memory may rise above the first sample. */
const GROWTH_MAX = 0.1

const renders = Math.max(Number(process.env['RENDERS'] ?? 2000), 2 * EVERY)
const begunAt = performance.now()
const report = await soak({ renders, every: EVERY, onSample: printSample })
const [first, ...later] = report.samples
const level = first?.pss ?? 0
const highest = Math.max(...later.map(({ pss }) => pss))
const verdicts = [
  verdict(
    highest <= level * (1 + GROWTH_MAX),
    `memory within 10 % of its level: at most ${percent(highest / level - 1)} over it`,
  ),
  verdict(report.surprises.length === 0, `every render ended as expected ${report.surprises.join('; ')}`),
  verdict(report.atOnce.react_pdf === SLOTS, `react_pdf has its slots: ${report.atOnce.react_pdf} of ${SLOTS}`),
  verdict(report.atOnce.html === SLOTS, `html has its slots: ${report.atOnce.html} of ${SLOTS}`),
  verdict(report.strays.length === 0, `nothing stayed behind ${report.strays.join('; ')}`),
  verdict(report.exitCode === 0, `the service stopped in order: ${report.exitCode}`),
]
if (verdicts.includes(false)) process.exitCode = 1

function printSample({ renders: done, pss, servicePss, processes }: Sample): void {
  const minutes = (performance.now() - begunAt) / 60_000
  process.stdout.write(
    `${String(done).padStart(6)} renders  ${mib(pss)} MiB in ${processes} processes, ${mib(servicePss)} of the service  ${minutes.toFixed(1)} min\n`,
  )
}

function verdict(isMet: boolean, text: string): boolean {
  process.stdout.write(`${isMet ? 'met   ' : 'MISSED'}  ${text.trimEnd()}\n`)
  return isMet
}

function mib(bytes: number): string {
  return (bytes / 1024 / 1024).toFixed(0).padStart(5)
}

function percent(share: number): string {
  return `${(share * 100).toFixed(1)} %`
}
