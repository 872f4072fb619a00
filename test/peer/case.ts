/**
 * `make bench ONLY=peers`: the service beside what its users would pick instead. It keeps its results and writes the tables of the documents;
 * PEERS=platen-html,gotenberg and ROWS=50 measure a part.
 */
import { LAST_LINE } from '../bench/invoice.ts'
import { type Contender, type Figure, quantile, type Result, race } from '../bench/measure.ts'
import { inspectPdf } from '../topology/oracle.ts'
import { PEERS } from './list.ts'
import { writeDocuments } from './page.ts'
import type { Peer } from './peer.ts'
import { type Cell, keyOf, type Results, readResults, writeResults } from './result.ts'
import { type Footprint, footprintOf, type Pace, paced, warmUp } from './turn.ts'

const SIZES = [10, 50, 500]
const AT_A_TIME = [1, 2]
const ROUNDS = 5
/** Before anything is measured: V8 goes on compiling a server for hundreds of documents. */
const FIRST_WARM_UP_MS = 10_000
/** Before each size, as browsers and V8 have seen smaller ones only. */
const WARM_UP_MS = 1000
const ROUND_MS = 2000

export async function* peers(scale: number): AsyncGenerator<Figure> {
  const { PEERS: names, ROWS: rows } = process.env
  const wanted = PEERS.filter(({ name }) => names === undefined || names.split(',').includes(name))
  const sizes = SIZES.filter((size) => rows === undefined || rows.split(',').includes(`${size}`))
  const absent: Record<string, string> = {}
  const started: Started[] = []
  for (const peer of wanted) {
    try {
      started.push({ peer, footprints: await footprints(peer, sizes, scale) })
    } catch (cause) {
      absent[peer.name] = cause instanceof Error ? cause.message : String(cause)
      say(`${peer.title}: not measured: ${absent[peer.name]}`)
    }
  }
  for await (const cells of raced(started, sizes, scale)) {
    // A run that is interrupted keeps what it has.
    writeDocuments(writeResults({ cells, absent }))
    yield* figures(cells)
  }
  const results = readResults()
  const measured = new Set(results.cells.map(keyOf))
  const lacking = wholeKeys(results).filter((key) => !measured.has(key))
  if (lacking.length > 0) say(`the tables are not whole, measure the rest today as well: ${lacking.join(', ')}`)
}

/** The cells of whole results: of every contender but those named as absent, each size and number at a time. */
export function wholeKeys({ absent }: Pick<Results, 'absent'>): readonly string[] {
  return PEERS.filter(({ name }) => !(name in absent)).flatMap(({ name: peer }) =>
    SIZES.flatMap((rows) => AT_A_TIME.map((atATime) => keyOf({ peer, rows, atATime }))),
  )
}

interface Started {
  readonly peer: Peer
  readonly footprints: ReadonlyMap<string, Footprint>
}

/** Of each size and concurrency, with no other contender running. */
async function footprints(
  peer: Peer,
  sizes: readonly number[],
  scale: number,
): Promise<ReadonlyMap<string, Footprint>> {
  await using contender = await peer.start()
  await warmUp(contender, FIRST, FIRST_WARM_UP_MS * scale)
  const found = new Map<string, Footprint>()
  for (const { rows, concurrency } of batchesOf(sizes)) {
    found.set(`${rows} ${concurrency}`, await footprintOf(contender, { rows, concurrency, count: 0 }, paceOf(scale)))
  }
  return found
}

/** Throughput, times and CPU, all contenders in turns. Yields the results of each size and concurrency. */
async function* raced(
  started: readonly Started[],
  sizes: readonly number[],
  scale: number,
): AsyncGenerator<readonly Cell[]> {
  await using open = new AsyncDisposableStack()
  const contenders: Contender[] = []
  for (const { peer } of started) contenders.push(open.use(await peer.start()))
  for (const contender of contenders) await warmUp(contender, FIRST, FIRST_WARM_UP_MS * scale)
  for (const { rows, concurrency } of batchesOf(sizes)) {
    const cells: Cell[] = []
    const runners = contenders.map((contender) => paced(contender, paceOf(scale)))
    const results = await race(runners, { rows, concurrency, count: 0, rounds: ROUNDS })
    for (const [at, { peer, footprints: memory }] of started.entries()) {
      const [result, footprint] = [results[at], memory.get(`${rows} ${concurrency}`)]
      if (result === undefined || footprint === undefined) throw new Error(`${peer.name} has a result of each batch`)
      await checkWhole(peer, result, rows)
      const cell = cellOf({ peer, rows, concurrency }, result, footprint)
      say(`${peer.name.padEnd(16)} ${JSON.stringify(cell)}`)
      cells.push(cell)
    }
    yield cells
  }
}

const FIRST = { rows: 50, concurrency: 2 }

function paceOf(scale: number): Pace {
  return { warmUpMs: WARM_UP_MS * scale, roundMs: ROUND_MS * scale }
}

function batchesOf(sizes: readonly number[]) {
  return sizes.flatMap((rows) => AT_A_TIME.map((concurrency) => ({ rows, concurrency })))
}

/** Whoever is faster for having left something out would not be faster. */
async function checkWhole(peer: Peer, { sample }: Result, rows: number): Promise<void> {
  const { text } = await inspectPdf(sample)
  const found = (text.match(/Item \d+,/g) ?? []).length
  if (found !== rows || !text.includes(`Item ${rows},`) || !text.includes(LAST_LINE)) {
    throw new Error(`a document of ${peer.name} is not whole: ${found} of ${rows} rows`)
  }
}

function cellOf(
  of: { readonly peer: Peer; readonly rows: number; readonly concurrency: number },
  { documentsPerSecond, cpuMsPerDocument, latenciesMs }: Result,
  { peakBytes, meanBytes }: Footprint,
): Cell {
  const rounded = (value: number) => Number(value.toPrecision(3))
  return {
    peer: of.peer.name,
    rows: of.rows,
    atATime: of.concurrency,
    documents: latenciesMs.length,
    perSecond: rounded(documentsPerSecond),
    p50Ms: rounded(quantile(latenciesMs, 0.5)),
    p95Ms: rounded(quantile(latenciesMs, 0.95)),
    cpuMs: rounded(cpuMsPerDocument),
    megabyteSeconds: rounded(meanBytes / 1e6 / documentsPerSecond),
    peakMegabytes: rounded(peakBytes / 1e6),
  }
}

/** The service in html beside Gotenberg on the same browser. */
function* figures(cells: readonly Cell[]): Generator<Figure> {
  for (const own of cells.filter(({ peer }) => peer === 'platen-html')) {
    const { rows, atATime } = own
    const other = cells.find((cell) => cell.peer === 'gotenberg' && cell.rows === rows && cell.atATime === atATime)
    if (other === undefined || rows === 500) continue
    const name = `html ${rows} rows, ${atATime} at a time`
    const detail = (one: number, two: number, unit: string) => `${one}, ${two} ${unit}`
    yield {
      name: `${name}: × Gotenberg`,
      detail: detail(own.perSecond, other.perSecond, 'a second'),
      value: own.perSecond / other.perSecond,
      target: { atLeast: rows === 10 ? 8 : 4 },
    }
    if (rows === 10) continue
    yield {
      name: `${name}: CPU × Gotenberg`,
      detail: detail(own.cpuMs, other.cpuMs, 'ms'),
      value: own.cpuMs / other.cpuMs,
      target: { atMost: 0.25 },
    }
    yield {
      name: `${name}: peak memory × Gotenberg`,
      detail: detail(own.peakMegabytes, other.peakMegabytes, 'MB'),
      value: own.peakMegabytes / other.peakMegabytes,
      target: { atMost: 2 },
    }
  }
}

function say(line: string): void {
  process.stdout.write(`${line}\n`)
}
