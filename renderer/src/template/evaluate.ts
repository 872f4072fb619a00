/**
 * Runs a tenant's react_pdf component and returns its element tree as plain JSON.
 *
 * The code runs in QuickJS compiled to WebAssembly. It can reach only one function of the host, which formats numbers and dates, JSON in
 * and JSON out. Before every evaluation, the whole memory of QuickJS is restored to the moment after the template was loaded and before it
 * saw data. So nothing of one render reaches the next, not even through a bug of the engine. Memory and stack are limited. Time is not
 * limited here: the deadline of a render terminates its thread from outside.
 */
import assert from 'node:assert/strict'
import { isDeepStrictEqual } from 'node:util'
import { ServiceError } from '@platen/contract/domain/error.ts'
import { FAILURE_MESSAGE_CHARS_MAX } from '@platen/contract/domain/limit.ts'
import type { RenderOptions } from '@platen/contract/domain/render-options.ts'
import type { Json } from '@platen/lib/brand.ts'
import { suggestion } from '@platen/lib/suggestion.ts'
import type { QuickJSContext, QuickJSHandle } from 'quickjs-emscripten-core'
import type { ConsoleLine } from '../port/engine.ts'
import { SANDBOX_CHECK_INTERRUPTS_MAX, SANDBOX_MEMORY_BYTES_MAX, SANDBOX_STACK_BYTES_MAX } from './limit.ts'
import { keeping, openConsole } from './sandbox/console.ts'
import { type FormatterDefaults, LONG_QUESTION, openFormatter, QUESTION_CHARS_MAX } from './sandbox/intl.ts'
import { holdsMoreValues, TREE_VALUES_MAX } from './sandbox/json.ts'
import { type Machine, type MemoryImage, openMachineFactory } from './sandbox/machine.ts'
import { SHIM } from './sandbox/shim.ts'
import { type Program, TEMPLATE_FILE } from './tsx/transpile.ts'

const MIB = 1024 * 1024

/** Characters of the element tree that leaves the sandbox. The tree is read at once, and takes several times as much memory. */
const SANDBOX_TREE_CHARS_MAX = 64 * MIB

export interface Evaluation {
  /** The nodes that the component returned, as `shim.ts` describes them. Untrusted. */
  readonly nodes: Json
  /** Calls the `render` function with that id. Throws as `Evaluate` does. */
  readonly call: (id: number, props: Readonly<Record<string, number | undefined>>) => Json
}

export interface EvaluationInput {
  /** A JSON object. Without it the template is loaded, but its component is not called, and there are no nodes. */
  readonly data?: string | undefined
  readonly options: RenderOptions
  /** The locale of numbers and dates if the code names none. Absent means en-US. */
  readonly locale?: string | undefined
  /** Stops the code after this many interrupts, one about every 10,000 branches. Absent: only the end of the thread stops it. */
  readonly interruptsMax?: number
  /** Gets what the code writes to its console, also before it fails. Absent drops it. */
  readonly onConsole?: ((line: ConsoleLine) => void) | undefined
}

/**
 * Throws `ServiceError` with `template_error` for any error of the code. The message begins with the position if it is known:
 * `template.tsx:12:5: TypeError: …`. The result is valid until the next evaluation in the same sandbox.
 */
export type Evaluate = (program: Program, input: EvaluationInput) => Promise<Evaluation>

/** Compiles QuickJS once. The result runs one evaluation at a time. */
export async function openSandbox(): Promise<Evaluate> {
  const makeMachine = await openMachineFactory()
  let runtime: TemplateRuntime | undefined
  return async (program, input) => {
    runtime = runtime === undefined || runtime.isSpent() ? openTemplateRuntime(await makeMachine()) : runtime
    return runtime.evaluate(program, input)
  }
}

/** A machine with our own code and the templates loaded there. */
interface TemplateRuntime {
  isSpent(): boolean
  evaluate(program: Program, input: EvaluationInput): Evaluation
}

/** A template after its module has run and before it has seen data. */
interface Loaded {
  /** The locale and time zone of `Intl` while the module ran. */
  readonly defaults: FormatterDefaults
  readonly image: MemoryImage
  readonly template: QuickJSHandle
  readonly lines: readonly ConsoleLine[]
}

/** Handles are not disposed: they disappear when the memory is restored. */
function openTemplateRuntime(machine: Machine): TemplateRuntime {
  const { context } = machine
  const loaded = new WeakMap<Program, Loaded>()
  let isBroken = false
  let evaluations = 0
  let format = openFormatter()
  const host = context.newFunction('host', (question) => context.newString(formatted(context, question, format)))
  const output = openConsole(context, placeOf)
  const shim = context.unwrapResult(context.evalCode(SHIM, 'platen.js'))
  const empty = machine.copy()
  const memory = openMemory(machine, empty)

  function attempt(program: Program, action: () => Result): QuickJSHandle {
    let result: Result
    try {
      result = action()
    } catch (cause) {
      // It stopped in an unknown state.
      isBroken = true
      throw crashOf(cause)
    }
    if (result.error === undefined) return result.value
    throw faultOf({ machine, program }, result.error)
  }

  function load(program: Program, defaults: FormatterDefaults, onConsole: EvaluationInput['onConsole']): Loaded {
    const known = loaded.get(program)
    if (known !== undefined && isDeepStrictEqual(known.defaults, defaults)) return repeated(known, onConsole)
    memory.restore(empty)
    const lines: ConsoleLine[] = []
    output.direct(onConsole && keeping(lines, onConsole), program)
    const run = attempt(program, () => context.evalCode(moduleOf(program), TEMPLATE_FILE))
    const template = attempt(program, () => context.callFunction(shim, context.undefined, host, output.note, run))
    const fresh = { defaults, template, image: machine.copy(empty), lines }
    loaded.set(program, fresh)
    memory.holds(fresh.image)
    return fresh
  }

  return {
    isSpent: () => isBroken || machine.isOutgrown(),
    evaluate(program, { data, options, locale, interruptsMax, onConsole }) {
      evaluations += 1
      const evaluation = evaluations
      const defaults = { locale, timeZone: options.time_zone }
      format = openFormatter(defaults)
      machine.limitInterrupts(interruptsMax)
      const { template, image } = load(program, defaults, onConsole)
      output.direct(onConsole, program)
      memory.restore(image)
      const callTemplate = (method: string, ...args: QuickJSHandle[]): Json => {
        const ask = () => context.callFunction(context.getProp(template, method), context.undefined, ...args)
        return treeOf(context, attempt(program, ask))
      }
      return {
        nodes: data === undefined ? [] : callTemplate('begin', context.newString(propsOf(data, options))),
        call(id, props) {
          assert(evaluation === evaluations, 'an evaluation ends with the next')
          return callTemplate('call', context.newNumber(id), context.newString(JSON.stringify(props)))
        },
      }
    },
  }
}

const MODULE_HEAD = '(require, module, exports) => {'

/** Adds no line, so that the template's lines keep their numbers. */
function moduleOf({ code }: Program): string {
  return `${MODULE_HEAD}${code}\n}`
}

/** A template that is already loaded does not run again, so its console lines are repeated. */
function repeated(known: Loaded, onConsole: EvaluationInput['onConsole']): Loaded {
  for (const line of known.lines) onConsole?.(line)
  return known
}

/** Native recursion, for example in the parser, can exhaust the thread's own stack before QuickJS notices. */
function crashOf(cause: unknown): ServiceError {
  const isStack = cause instanceof RangeError
  return templateError(isStack ? RECURSED : `${TEMPLATE_FILE}: the template crashed its sandbox`, cause)
}

function propsOf(data: string, options: RenderOptions): string {
  return `{"data":${data},"options":${JSON.stringify(options)}}`
}

/**
 * The length of a string, without reading it. Infinite for anything else: an object could claim any length and convert to a longer string.
 */
function charsOf(context: QuickJSContext, text: QuickJSHandle): number {
  if (context.typeof(text) !== 'string') return Number.POSITIVE_INFINITY
  return context.getNumber(context.getProp(text, 'length'))
}

/** Skips the restore of an image that the memory still holds, because nothing has run since. */
function openMemory(machine: Machine, image: MemoryImage) {
  let held: MemoryImage | undefined = image
  return {
    /** Code may run after this. */
    restore(wanted: MemoryImage): void {
      if (held !== wanted) machine.restore(wanted)
      held = undefined
    },
    holds(current: MemoryImage): void {
      held = current
    },
  }
}

function formatted(context: QuickJSContext, question: QuickJSHandle, format: (question: string) => string): string {
  return charsOf(context, question) > QUESTION_CHARS_MAX ? LONG_QUESTION : format(context.getString(question))
}

/**
 * A template that changes the builtins of its sandbox can only damage its own answer. JSON.parse cannot be interrupted, so the values are
 * counted first, in a loop that can be.
 */
function treeOf(context: QuickJSContext, answer: QuickJSHandle): Json {
  if (context.typeof(answer) !== 'string') throw templateError(NO_TREE)
  if (charsOf(context, answer) > SANDBOX_TREE_CHARS_MAX) throw templateError(TOO_LARGE)
  const json = context.getString(answer)
  if (holdsMoreValues(json, TREE_VALUES_MAX)) throw templateError(TOO_MANY)
  try {
    // JSON.parse only returns Json.
    return JSON.parse(json) as Json
  } catch (cause) {
    throw templateError(NO_TREE, cause)
  }
}

/** Branches between two calls of QuickJS's interrupt handler. */
const BRANCHES_PER_INTERRUPT = 10_000

const NO_TREE = `${TEMPLATE_FILE}: the component returned no element tree`

const TOO_LARGE = `${TEMPLATE_FILE}: the element tree is larger than ${SANDBOX_TREE_CHARS_MAX / 2 ** 20} MiB`

const TOO_MANY = `${TEMPLATE_FILE}: the element tree has more than ${TREE_VALUES_MAX} values and keys`

type Result = ReturnType<QuickJSContext['evalCode']>

const RECURSED = `${TEMPLATE_FILE}: the template recursed too deeply for a stack of ${SANDBOX_STACK_BYTES_MAX / 2 ** 20} MiB (does a component return itself?)`

function templateError(message: string, cause?: unknown): ServiceError {
  return new ServiceError('template_error', message.slice(0, FAILURE_MESSAGE_CHARS_MAX), { cause })
}

interface Sandbox {
  readonly machine: Machine
  readonly program: Program
}

/** Reading the error may run getters of the template and throw again. */
function faultOf({ machine, program }: Sandbox, error: QuickJSHandle): ServiceError {
  const { context } = machine
  const isNull = context.eq(error, context.null)
  // QuickJS throws null if there is no memory for an error.
  if (isNull && machine.hasRunOut()) return internalFault('out of memory')
  try {
    const isObject = !isNull && context.typeof(error) === 'object'
    const read = (key: string) => shortTextOf(context, context.getProp(error, key))
    const message = isObject ? read('message') : shortTextOf(context, error)
    const name = isObject ? read('name') : 'Error'
    if (name === 'InternalError') return internalFault(message)
    const stack = isObject ? read('stack') : ''
    if (isObject && read('isFault') === 'true') return faultOfShim(program, { message, stack, read })
    const kind = name === 'undefined' ? 'Error' : name
    return templateError(`${placeOf(program, stack)}: ${kind}: ${namedCall(program, message, stack)}`)
  } catch (cause) {
    return templateError(`${TEMPLATE_FILE}: the template threw something that cannot be read`, cause)
  }
}

/** A template may throw anything, of any size, so only a short value is read. */
function shortTextOf(context: QuickJSContext, value: QuickJSHandle): string {
  const kind = context.typeof(value)
  if (kind === 'string')
    return charsOf(context, value) > THROWN_CHARS_MAX
      ? `(a text of more than ${THROWN_CHARS_MAX} characters)`
      : context.getString(value)
  // An object converts itself by its own code, and a large bigint takes long. The other kinds are one word.
  if (kind === 'object') return context.eq(value, context.null) ? 'null' : '(an object)'
  return kind === 'bigint' ? '(a bigint)' : kind === 'function' ? '(a function)' : context.getString(value)
}

/** Far more than a message shows. */
const THROWN_CHARS_MAX = 100_000

/** QuickJS does not name the value that is not a function. Its position is that of the bracket after the name. */
function namedCall({ code }: Program, message: string, stack: string): string {
  if (message !== 'not a function') return message
  const [, native] = /^\s*at (\S{1,50}) \(native\)/.exec(stack) ?? []
  if (native !== undefined) return `what ${native} gets is not a function`
  const [, line, column] = /^[^\n]*template\.tsx:(\d+):(\d+)/.exec(stack) ?? []
  if (line === undefined || column === undefined) return message
  const lines = code.split('\n').slice(Math.max(0, Number(line) - CALLEE_LINES), Number(line))
  const last = lines.pop() ?? ''
  // A type in the source leaves brackets: `(Intl as any).Segmenter`.
  const before = `${lines.join('\n')}\n${last.slice(0, Number(column) - (line === '1' ? MODULE_HEAD.length : 0) - 1)}`
    .slice(-CALLEE_CHARS)
    .replaceAll(/\(\s*([\w$.]+)\s*\)/g, '$1')
  const [callee = ''] = /[\w$]+(?:\s*\??\.\s*[\w$]+|\[[\w$'"]{1,40}\])*$/.exec(before) ?? []
  const name = callee.replaceAll(/\s+/g, '')
  if (name === '') return message
  return BUILTIN_OBJECT.test(name) ? `${name} is not available` : `${name} is not a function`
}

const CALLEE_LINES = 5
const CALLEE_CHARS = 300

const BUILTIN_OBJECT =
  /^(?:Intl|globalThis|Object|Array|Math|JSON|String|Number|BigInt|Date|Promise|Reflect|Map|Set|console)\./

interface ShimFault {
  readonly message: string
  readonly stack: string
  readonly read: (key: string) => string
}

/** For an error of `shim.ts`, which names the line of an element, or a name that does not exist. */
function faultOfShim(program: Program, { message, stack, read }: ShimFault): ServiceError {
  const [line, element, prop, wrong] = ['line', 'element', 'prop', 'wrong'].map((key) => {
    const value = read(key).slice(0, NAME_CHARS_MAX)
    return value === 'undefined' ? undefined : value
  })
  const place =
    line !== undefined && /^\d{1,7}$/.test(line)
      ? program.find({ line: Number(line), element, prop })
      : placeOf(program, stack)
  if (wrong === undefined) return templateError(`${place}: ${message}`)
  const known = read('known').slice(0, NAMES_CHARS_MAX).split(',')
  return templateError(`${place}: ${message}${suggestion(wrong, known)}${read('rest')}`)
}

/** A template may fake an error of the shim. This limits the work that it causes. */
const NAME_CHARS_MAX = 100
const NAMES_CHARS_MAX = 2000

/** Only a publish check has this limit. A render is interrupted by its deadline. */
const BRANCHES_MAX = `some ${(SANDBOX_CHECK_INTERRUPTS_MAX * BRANCHES_PER_INTERRUPT) / 1e6} million`

/** QuickJS's own limit. */
const STRING_CHARS_MAX = 2 ** 30 - 1

/** QuickJS's own limits. Where a limit was reached says little, so no position is given. */
function internalFault(message: string): ServiceError {
  switch (message) {
    case 'interrupted':
      return templateError(`${TEMPLATE_FILE}: the template ran too long: more than ${BRANCHES_MAX} loops and calls`)
    case 'out of memory':
      return templateError(`${TEMPLATE_FILE}: the template needs more than ${SANDBOX_MEMORY_BYTES_MAX / 2 ** 20} MiB`)
    case 'string too long':
      return templateError(`${TEMPLATE_FILE}: the template made a string of more than ${STRING_CHARS_MAX} characters`)
    case 'stack overflow':
      return templateError(RECURSED)
    default:
      return templateError(`${TEMPLATE_FILE}: ${message}`)
  }
}

function placeOf(program: Program, stack: string): string {
  const frame = /template\.tsx:(\d+)(?::(\d+))?/.exec(stack)
  if (frame === null) return TEMPLATE_FILE
  return program.locate(Number(frame[1]), Number(frame[2] ?? 1))
}
