/**
 * Runs a tenant's react_pdf component and gives its element tree as plain JSON.
 *
 * The code runs in QuickJS compiled to WebAssembly: no host object is in reach but one function, which takes JSON, formats a
 * number or a date, and returns JSON. Before every evaluation the whole memory of QuickJS is put back to the moment when the
 * template had been loaded and had seen no data, so nothing of one render, not even what a bug of the engine might leave behind,
 * is there for the next. Memory and stack have limits; time has none here, as a render's thread is ended from outside by its
 * deadline.
 */
import assert from 'node:assert/strict'
import type { Json } from '@platen/contract/brand.ts'
import { ServiceError } from '@platen/contract/error.ts'
import {
  FAILURE_MESSAGE_CHARS_MAX,
  SANDBOX_CHECK_INTERRUPTS_MAX,
  SANDBOX_MEMORY_BYTES_MAX,
  SANDBOX_STACK_BYTES_MAX,
  SANDBOX_TREE_CHARS_MAX,
} from '@platen/contract/limit.ts'
import type { RenderOptions } from '@platen/contract/render-options.ts'
import type { QuickJSContext, QuickJSHandle } from 'quickjs-emscripten-core'
import { suggestion } from './element/primitive.ts'
import { LONG_QUESTION, openFormatter, QUESTION_CHARS_MAX } from './sandbox/intl.ts'
import { holdsMoreValues, TREE_VALUES_MAX } from './sandbox/json.ts'
import { type Machine, type MemoryImage, openMachineFactory } from './sandbox/machine.ts'
import { SHIM } from './sandbox/shim.ts'
import { type Program, TEMPLATE_FILE } from './transpile.ts'

export interface Evaluation {
  /** The nodes the component returned, as `shim.ts` describes them. Untrusted. */
  readonly nodes: Json
  /** Calls the `render` function of that id and gives its nodes. Throws as `evaluate` does. */
  readonly call: (id: number, props: Readonly<Record<string, number | undefined>>) => Json
}

export interface EvaluationInput {
  /** An object in JSON. Without data the template is loaded, imports and all, and its component not called: there are no nodes then. */
  readonly data?: string | undefined
  readonly options: RenderOptions
  /** The locale of numbers and dates where the code names none; en-US without it. */
  readonly locale?: string | undefined
  /** After so many times of asking (about every 10,000 branches) the code is stopped; without it, only its thread's end stops it. */
  readonly interruptsMax?: number
}

/**
 * Runs the component of `program`. Throws `ServiceError` with `template_error` for whatever the code does wrong, the message
 * opening with the place where that is known: `template.tsx:12:5: TypeError: …`. The result lives until
 * the next evaluation of the same sandbox.
 */
export type Evaluate = (program: Program, input: EvaluationInput) => Promise<Evaluation>

/** Loads and compiles QuickJS, once for any number of evaluations, of which there is one at a time. */
export async function openSandbox(): Promise<Evaluate> {
  const makeMachine = await openMachineFactory()
  let runtime: TemplateRuntime | undefined
  return async (program, input) => {
    runtime = runtime === undefined || runtime.isSpent() ? openTemplateRuntime(await makeMachine()) : runtime
    return runtime.evaluate(program, input)
  }
}

/** A machine with the service's own part loaded, and what is known of templates that were loaded there. */
interface TemplateRuntime {
  /** Is it not to be used again? */
  isSpent(): boolean
  evaluate(program: Program, input: EvaluationInput): Evaluation
}

/** A template after its module has run and before it has seen data. */
interface Loaded {
  /** What the module wrote with `Intl`, it wrote in this one. */
  readonly locale: string | undefined
  readonly image: MemoryImage
  readonly template: QuickJSHandle
}

/** Handles are not disposed of: they go when the memory is put back. */
function openTemplateRuntime(machine: Machine): TemplateRuntime {
  const { context } = machine
  const loaded = new WeakMap<Program, Loaded>()
  let isBroken = false
  let evaluations = 0
  let format = openFormatter()
  const host = context.newFunction('host', (question) => context.newString(formatted(context, question, format)))
  const shim = context.unwrapResult(context.evalCode(SHIM, 'platen.js'))
  const empty = machine.copy()
  const memory = openMemory(machine, empty)

  function attempt(program: Program, action: () => Result): QuickJSHandle {
    let result: Result
    try {
      result = action()
    } catch (cause) {
      // It was left in the middle of something.
      isBroken = true
      // Native recursion (of the parser, say) can use up the thread's own stack before QuickJS notices.
      const isStack = cause instanceof RangeError
      throw templateError(isStack ? RECURSED : `${TEMPLATE_FILE}: the template brought its sandbox down`, cause)
    }
    if (result.error === undefined) return result.value
    throw faultOf({ machine, program }, result.error)
  }

  function load(program: Program, locale: string | undefined): Loaded {
    memory.restore(empty)
    // On the first line of the template, so that its lines keep their numbers.
    const wrapped = `(require, module, exports) => {${program.code}\n}`
    const run = attempt(program, () => context.evalCode(wrapped, TEMPLATE_FILE))
    const template = attempt(program, () => context.callFunction(shim, context.undefined, host, run))
    const fresh = { locale, template, image: machine.copy(empty) }
    loaded.set(program, fresh)
    memory.holds(fresh.image)
    return fresh
  }

  return {
    isSpent: () => isBroken || machine.isOutgrown(),
    evaluate(program, { data, options, locale, interruptsMax }) {
      evaluations += 1
      const evaluation = evaluations
      format = openFormatter(locale)
      machine.limitInterrupts(interruptsMax)
      const known = loaded.get(program)
      const { template, image } = known?.locale === locale && known !== undefined ? known : load(program, locale)
      memory.restore(image)
      const callTemplate = (method: string, ...args: QuickJSHandle[]): Json => {
        const answer = attempt(program, () =>
          context.callFunction(context.getProp(template, method), context.undefined, ...args),
        )
        return treeOf(context, answer)
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

/** What a component is given, as JSON. */
function propsOf(data: string, options: RenderOptions): string {
  return `{"data":${data},"options":${JSON.stringify(options)}}`
}

/** Of a text, without reading it. */
function charsOf(context: QuickJSContext, text: QuickJSHandle): number {
  return context.getNumber(context.getProp(text, 'length'))
}

/** The memory of a machine that holds `image`, as nothing has run since. It need not be put back to where it is. */
function openMemory(machine: Machine, image: MemoryImage) {
  let held: MemoryImage | undefined = image
  return {
    /** From here on code may run. */
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
 * A template that rewrites the builtins of its sandbox can spoil its own answer, and nothing else. Until JSON has been read nothing
 * ends its thread, so its values are counted before: in a loop, which can be ended.
 */
function treeOf(context: QuickJSContext, answer: QuickJSHandle): Json {
  if (charsOf(context, answer) > SANDBOX_TREE_CHARS_MAX) throw templateError(TOO_LARGE)
  const json = context.getString(answer)
  if (holdsMoreValues(json, TREE_VALUES_MAX)) throw templateError(TOO_MANY)
  try {
    // JSON.parse gives nothing but Json.
    return JSON.parse(json) as Json
  } catch (cause) {
    throw new ServiceError('template_error', `${TEMPLATE_FILE}: the component gave no element tree`, { cause })
  }
}

/** How often QuickJS asks whether to go on. */
const BRANCHES_PER_INTERRUPT = 10_000

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

/** What was thrown inside, as its author should read it. Reading it may run their getters and throw again. */
function faultOf({ machine, program }: Sandbox, error: QuickJSHandle): ServiceError {
  const { context } = machine
  const isNull = context.eq(error, context.null)
  // What QuickJS throws where there is no room left for an error.
  if (isNull && machine.hasRunOut()) return internalFault('out of memory')
  try {
    const read = (key: string): string => context.getString(context.getProp(error, key))
    const isObject = !isNull && context.typeof(error) === 'object'
    const message = isObject ? read('message') : context.getString(error)
    const name = isObject ? read('name') : 'Error'
    if (name === 'InternalError') return internalFault(message)
    const stack = isObject ? read('stack') : ''
    if (isObject && read('isFault') === 'true') return faultOfShim(program, { message, stack, read })
    // What is thrown need not be an error.
    const kind = name === 'undefined' ? 'Error' : name
    return templateError(`${placeOf(program, stack)}: ${kind}: ${message}`)
  } catch (cause) {
    return templateError(`${TEMPLATE_FILE}: the template threw something that cannot be read`, cause)
  }
}

interface ShimFault {
  readonly message: string
  readonly stack: string
  readonly read: (key: string) => string
}

/** An error of `shim.ts`: of an element whose line it knows, or where the code asked for a name there is not. */
function faultOfShim(program: Program, { message, stack, read }: ShimFault): ServiceError {
  const [line, element, prop, wrong] = ['line', 'element', 'prop', 'wrong'].map((key) => {
    const value = read(key).slice(0, NAME_CHARS_MAX)
    return value === 'undefined' ? undefined : value
  })
  const place =
    line !== undefined && /^\d+$/.test(line)
      ? program.find({ line: Number(line), element, prop })
      : placeOf(program, stack)
  if (wrong === undefined) return templateError(`${place}: ${message}`)
  const known = read('known').slice(0, NAMES_CHARS_MAX).split(',')
  return templateError(`${place}: ${message}${suggestion(wrong, known)}${read('rest')}`)
}

/** A template may throw what looks like an error of ours; it gets no more work out of it than this. */
const NAME_CHARS_MAX = 100
const NAMES_CHARS_MAX = 2000

/** What a publish check may take; a render is interrupted by nothing but its deadline. */
const BRANCHES_MAX = `some ${(SANDBOX_CHECK_INTERRUPTS_MAX * BRANCHES_PER_INTERRUPT) / 1e6} million`

/** The longest text there is in QuickJS. */
const STRING_CHARS_MAX = 2 ** 30 - 1

/** QuickJS's own limits. They carry no place worth telling: where the last straw fell says little. */
function internalFault(message: string): ServiceError {
  switch (message) {
    case 'interrupted':
      return templateError(`${TEMPLATE_FILE}: the template ran too long: more than ${BRANCHES_MAX} loops and calls`)
    case 'out of memory':
      return templateError(`${TEMPLATE_FILE}: the template needs more than ${SANDBOX_MEMORY_BYTES_MAX / 2 ** 20} MiB`)
    case 'string too long':
      return templateError(`${TEMPLATE_FILE}: the template made a text of more than ${STRING_CHARS_MAX} characters`)
    case 'stack overflow':
      return templateError(RECURSED)
    default:
      return templateError(`${TEMPLATE_FILE}: ${message}`)
  }
}

/** The innermost frame that is the author's. */
function placeOf(program: Program, stack: string): string {
  const frame = /template\.tsx:(\d+)(?::(\d+))?/.exec(stack)
  if (frame === null) return TEMPLATE_FILE
  return program.locate(Number(frame[1]), Number(frame[2] ?? 1))
}
