/** The code of a render thread. It runs one task at a time and replies to each with a result or a failure. */
import { Console } from 'node:console'
import { flushCompileCache } from 'node:module'
import { constants, getPriority, platform, setPriority } from 'node:os'
import { Writable } from 'node:stream'
import { setImmediate, setTimeout } from 'node:timers/promises'
import { getHeapStatistics } from 'node:v8'
import { type MessagePort, parentPort, workerData } from 'node:worker_threads'
import { isFailureCode, ServiceError } from '@platen/contract/domain/error.ts'
import { FAILURE_MESSAGE_CHARS_MAX } from '@platen/contract/domain/limit.ts'
import type { RenderId } from '@platen/contract/domain/render-id.ts'
import type { TemplateCode, TemplateDigest, TenantId } from '@platen/contract/domain/tenant.ts'
import type { ConsoleLine, RenderWork } from '../../port/engine.ts'
import type { FontFace } from '../../template/asset/font/default-fonts.ts'
import { FilesNeeded } from '../../template/asset/remote-images.ts'
import type { CheckTemplate } from '../../template/check.ts'
import type { Evaluate } from '../../template/evaluate.ts'
import type { FillHtml } from '../../template/html/fill.ts'
import type { RenderDocument } from '../document.ts'
import { LOW_NICENESS } from '../limit.ts'
import type { RenderTask, TaskEnd, TaskKind, TaskResults, ThreadData, ThreadMessage, ThreadReply } from './message.ts'

async function serve(port: MessagePort, { kinds, faces, isLow }: ThreadData): Promise<void> {
  // Before the thread loads anything: a start takes a core for a third of a second.
  if (isLow) lowerPriority()
  // react-pdf writes warnings to the console that quote the document.
  globalThis.console = new Console(new Writable({ write: (_chunk, _encoding, done) => done() }))
  // Code here must not fetch. yoga would fetch its own WebAssembly, which is text in its module, and Node would load its HTTP clients.
  Reflect.deleteProperty(globalThis, 'fetch')
  const tools = await openTools(new Set(kinds), faces)
  let keeping: Promise<void> | undefined
  const handleNext = async (message: ThreadMessage) => {
    await handle(port, tools, message)
    keeping ??= keepCompiled()
  }
  port.on('message', (message: ThreadMessage) => void handleNext(message))
  post(port, { kind: 'loaded' })
}

/** Lowers the priority of this thread alone. Only Linux has a call for that. A process without rights cannot raise it again. */
function lowerPriority(): void {
  if (platform() !== 'linux') return
  try {
    setPriority(0, Math.min(constants.priority.PRIORITY_LOW, getPriority(0) + LOW_NICENESS))
  } catch {
    // A sandbox may refuse the call. The thread then works like the others.
  }
}

interface Tools {
  readonly renderDocument?: RenderDocument
  readonly checkTemplate?: CheckTemplate
  readonly fillHtml?: FillHtml
}

/** Loads only the tools that are needed: each has its own libraries, and all together take twice as long as react-pdf alone. */
async function openTools(kinds: ReadonlySet<TaskKind>, faces: readonly FontFace[]): Promise<Tools> {
  const isEvaluating = kinds.has('react_pdf') || kinds.has('check')
  // Both share one sandbox, because only one task runs at a time.
  const evaluate = isEvaluating ? await openEvaluation() : undefined
  return {
    ...(kinds.has('react_pdf') && evaluate && { renderDocument: await openRenderer(evaluate, faces) }),
    ...(kinds.has('check') && evaluate && { checkTemplate: await openCheck(evaluate) }),
    ...(kinds.has('fill') && { fillHtml: await openFiller(faces) }),
  }
}

async function openEvaluation(): Promise<Evaluate> {
  const { openSandbox } = await import('../../template/evaluate.ts')
  return openSandbox()
}

async function openRenderer(evaluate: Evaluate, faces: readonly FontFace[]): Promise<RenderDocument> {
  const { importDocument } = await import('./document-module.ts')
  const { openDocumentRenderer } = await importDocument()
  return openDocumentRenderer(evaluate, { faces, monotonic: () => performance.now() })
}

async function openCheck(evaluate: Evaluate): Promise<CheckTemplate> {
  const { openTemplateCheck } = await import('../../template/check.ts')
  return openTemplateCheck(evaluate)
}

async function openFiller(faces: readonly FontFace[]): Promise<FillHtml> {
  const { openHtmlFiller } = await import('../../template/html/fill.ts')
  return openHtmlFiller(faces)
}

/** The pool sends the next task only after the reply to the last. */
async function handle(port: MessagePort, tools: Tools, message: ThreadMessage): Promise<void> {
  // If renders follow each other without a turn of the event loop, the heap grows.
  await setImmediate()
  if (message.kind === 'warm_up') return warmUp(port, tools)
  // Posted at once: a template that never ends is ended from outside.
  const onConsole = (line: ConsoleLine) => post(port, { kind: 'console', line })
  const end = await endOf(runTask(tools, message, onConsole))
  post(port, { ...end, keptBytes: keptBytes() })
}

async function endOf(task: Promise<TaskResults[TaskKind]>): Promise<TaskEnd> {
  try {
    return { kind: 'done', value: await task }
  } catch (error) {
    return failureOf(error)
  }
}

function keptBytes(): number {
  const { total_heap_size: heap, external_memory: buffers } = getHeapStatistics()
  return heap + buffers
}

/** A failure here is not the fault of a template. It ends the thread, which then counts as not started. */
async function warmUp(port: MessagePort, { renderDocument }: Tools): Promise<void> {
  await renderDocument?.(WARM_UP)
  post(port, { kind: 'warm' })
}

/**
 * Saves the compile cache. Threads are terminated, so Node never reaches its own exit code that writes the cache. Writing takes as long as
 * a few documents, so it waits until the first ones are made.
 */
async function keepCompiled(): Promise<void> {
  await setTimeout(COMPILED_KEPT_AFTER_MS)
  flushCompileCache()
}

const COMPILED_KEPT_AFTER_MS = 1000

async function runTask(
  { renderDocument, checkTemplate, fillHtml }: Tools,
  task: RenderTask,
  onConsole: (line: ConsoleLine) => void,
): Promise<TaskResults[RenderTask['kind']]> {
  if (task.kind === 'react_pdf' && renderDocument)
    return renderDocument(task.isConsoleKept === true ? { ...task.work, onConsole } : task.work)
  if (task.kind === 'fill' && fillHtml) return fillHtml(task.work)
  if (task.kind === 'check' && checkTemplate) return checkTemplate(task.check)
  throw new TypeError(`this thread is not for tasks of the kind ${task.kind}`)
}

function post(port: MessagePort, reply: ThreadReply): void {
  const isRendering = reply.kind === 'done' && 'pdf' in reply.value
  port.postMessage(reply, isRendering ? [reply.value.pdf.buffer] : [])
}

/** Cuts the message to the length that is shown, because it may quote all data of a template. */
function failureOf(error: unknown): TaskEnd {
  if (error instanceof FilesNeeded) return { kind: 'wanting', urls: error.urls }
  if (!(error instanceof Error)) return { kind: 'failed', message: String(error).slice(0, FAILURE_MESSAGE_CHARS_MAX) }
  const message = error.message.slice(0, FAILURE_MESSAGE_CHARS_MAX)
  if (error instanceof ServiceError && isFailureCode(error.code)) return { kind: 'failed', code: error.code, message }
  const stack = error.stack?.slice(0, STACK_CHARS_MAX)
  return { kind: 'failed', message, ...(stack === undefined ? {} : { stack }) }
}

/** Room for a few dozen frames. */
const STACK_CHARS_MAX = 10_000

/** A document that uses every common feature. Nobody sees it. */
const WARM_UP: RenderWork = {
  render: '' as RenderId,
  tenant: '' as TenantId,
  digest: '' as TemplateDigest,
  template: {
    code: 'warm-up' as TemplateCode,
    name: 'Warm-up',
    version: 1,
    options: {},
    reactPdf: `
import { Document, Page, Text, View } from '@react-pdf/renderer'
const money = new Intl.NumberFormat('en-US', { style: 'currency', currency: 'EUR' })
export default ({ data }) => (
  <Document>
    <Page style={{ padding: 40 }}>
      {data.rows.map((row) => (
        <View key={row} wrap={false} style={{ flexDirection: 'row', borderBottom: '1pt solid #ccc' }}>
          <Text style={{ flex: 1, fontWeight: 'bold' }}>Row {row}</Text>
          <Text>{money.format(row)}</Text>
        </View>
      ))}
      <Text fixed style={{ position: 'absolute', bottom: 20 }} render={({ pageNumber, totalPages }) => pageNumber + ' / ' + totalPages} />
    </Page>
  </Document>
)`,
  },
  assets: [],
  data: new TextEncoder().encode('{"rows":[0,1,2,3,4]}'),
  options: {},
  date: 0,
  javascriptEnabled: false,
  isSandbox: false,
}

// Last: it needs everything above.
if (parentPort !== null) await serve(parentPort, workerData)
