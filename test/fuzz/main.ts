/**
 * `make fuzz MINUTES=30`: goes round everything that hostile input meets until the time is over, with inputs by chance. What it finds
 * is shrunk, told with its seed, and kept in `found/`, where the tests try it first from then on. `ONLY=data,body` takes some.
 */
import { corpusOf, keep } from './corpus.ts'
import { assets } from './target/asset.ts'
import { body } from './target/body.ts'
import { data } from './target/data.ts'
import { resource } from './target/resource.ts'
import { liquid, reactPdf } from './target/template.ts'

const TURN_MS = 60_000

const { ONLY, SEED, MINUTES = '10' } = process.env
const targets = [data, body, resource, reactPdf, liquid, ...assets]
const wanted = targets.filter(({ name }) => ONLY === undefined || ONLY.split(',').includes(name))
const endsAt = performance.now() + Number(MINUTES) * 60_000
const turnMs = Math.min(TURN_MS, (Number(MINUTES) * 60_000) / wanted.length)
let seed = Number(SEED ?? Date.now() % 1_000_000)
let finds = 0

for (const { name, open } of wanted) {
  await using opened = await open()
  for (const [file, input] of corpusOf(name)) {
    await opened.replay(input).catch((error: unknown) => {
      finds += 1
      say(`FOUND   ${name}: ${file} again: ${String(error)}`)
    })
  }
}
while (performance.now() < endsAt) {
  for (const { name, open } of wanted) {
    const milliseconds = Math.min(turnMs, endsAt - performance.now())
    if (milliseconds <= 0) break
    await using opened = await open()
    const { runs, find } = await opened.fuzz({ seed, runs: Number.MAX_SAFE_INTEGER, milliseconds })
    say(`${name.padEnd(10)} seed ${seed}: ${runs} runs`)
    if (find === undefined) continue
    finds += 1
    say(`FOUND   ${name}, kept as ${keep(find)}: ${JSON.stringify(find.input).slice(0, 2000)}\n${find.message}`)
  }
  seed += 1
}
say(`${finds} found`)
if (finds > 0) process.exitCode = 1

function say(line: string): void {
  process.stdout.write(`${line}\n`)
}
