/** Reads the messages of the log from the sources: which there are, at which levels, and which processes contain their modules. */
import { parseAst } from 'vitest/node'
import { arrowsOf, isRecord, listFiles, readText, targetOf } from './source-tree.ts'

const LEVELS = ['error', 'warn', 'info', 'debug']
/** Each is started by its own main module. */
export const PROCESSES = ['api', 'renderer', 'events', 'operator', 'embedded']
/** Logs at one of two levels, which the error decides. */
const TOLERATING = { name: 'logTolerated', levels: ['warn', 'debug'], at: 2, file: 'api/src/problem.ts' }

export interface LogCall {
  readonly file: string
  readonly levels: readonly string[]
  /** Undefined if it is not a constant. */
  readonly message: string | undefined
}

/** Messages with what is read of each from the sources. */
export type LogMessages = ReadonlyMap<
  string,
  { readonly files: ReadonlySet<string>; readonly levels: readonly string[]; readonly processes: readonly string[] }
>

/** Returns all calls of a log in the modules of the processes. */
export function allLogCalls(): readonly LogCall[] {
  const modules = listFiles().filter((file) => /^(?!client|cli)\w+\/src\/.*(?<!\.test)\.ts$/.test(file))
  return modules.flatMap((file) => logCallsOf(file))
}

/** Returns the calls of a log in a module. It reads the syntax tree: `log.warn(fields, 'message')` and `ports.log.warn(…)`. */
export function logCallsOf(file: string, text = readText(file)): readonly LogCall[] {
  const calls: LogCall[] = []
  const visit = (node: unknown): void => {
    if (Array.isArray(node)) return node.forEach(visit)
    if (!isRecord(node)) return
    const call = logCall(node)
    if (call !== undefined && !(file === TOLERATING.file && call.message === undefined)) calls.push({ file, ...call })
    Object.values(node).forEach(visit)
  }
  visit(parseAst(text, { lang: 'ts' }).body)
  return calls
}

function logCall(node: Readonly<Record<string, unknown>>): Omit<LogCall, 'file'> | undefined {
  if (node['type'] !== 'CallExpression') return undefined
  const { callee, arguments: args } = node
  if (!isRecord(callee) || !Array.isArray(args)) return undefined
  if (callee['name'] === TOLERATING.name) return { levels: TOLERATING.levels, message: textOf(args[TOLERATING.at]) }
  const level = nameOf(callee['property'])
  const isOfLog = callee['type'] === 'MemberExpression' && /^log$/.test(lastNameOf(callee['object']))
  return isOfLog && LEVELS.includes(level) ? { levels: [level], message: textOf(args[1]) } : undefined
}

function lastNameOf(node: unknown): string {
  return nameOf(isRecord(node) && node['type'] === 'MemberExpression' ? node['property'] : node)
}

function nameOf(node: unknown): string {
  return isRecord(node) && typeof node['name'] === 'string' ? node['name'] : ''
}

function textOf(node: unknown): string | undefined {
  return isRecord(node) && typeof node['value'] === 'string' ? node['value'] : undefined
}

/** Returns the messages in alphabetical order. A process may write those of all modules that its main module imports. */
export function logMessages(calls = allLogCalls()): LogMessages {
  const contents = PROCESSES.map((name) => [name, modulesOf(`${name}/src/main.ts`)] as const)
  const messages = Map.groupBy(calls, ({ message }) => message ?? '')
  return new Map(
    [...messages].toSorted(byName).map(([message, of]) => {
      const files = new Set(of.map(({ file }) => file))
      const levels = LEVELS.filter((level) => of.some((call) => call.levels.includes(level)))
      const processes = contents.flatMap(([name, modules]) => (files.isDisjointFrom(modules) ? [] : [name]))
      return [message, { files, levels, processes }]
    }),
  )
}

function byName([one]: readonly [string, unknown], [other]: readonly [string, unknown]): number {
  return one < other ? -1 : 1
}

/** Returns a module and all that run with it: what it imports and the threads that it starts. */
function modulesOf(main: string): ReadonlySet<string> {
  const known = new Set<string>()
  const add = (file: string): void => {
    if (known.has(file)) return
    known.add(file)
    for (const arrow of arrowsOf(file)) {
      const target = arrow.kind === 'type' ? undefined : targetOf(arrow)
      if (target?.endsWith('.ts')) add(target)
    }
  }
  add(main)
  return known
}
