/**
 * The console of a template: previews and checks show its lines to the author, and renders drop them. The host keeps the lines, so that
 * they survive an error of the template. All limits are enforced outside of the sandbox.
 */
import type { QuickJSContext, QuickJSHandle } from 'quickjs-emscripten-core'
import type { ConsoleLine } from '../../port/engine.ts'

/** Lines of one document, and the length of each. */
export const CONSOLE_LINES_MAX = 100
export const CONSOLE_LINE_CHARS_MAX = 1000
/** Enough for the innermost frames, which name the line. */
const STACK_CHARS_MAX = 4000

const LEVELS: readonly ConsoleLine['level'][] = ['log', 'info', 'debug', 'warn', 'error']

/** Uses two names of the scope around it: `define` and `note`, which says whether it takes more lines. */
export const CONSOLE = `
const noted = { isOver: false }
const spelled = (value) => {
  if (typeof value === 'string') return value
  if (value instanceof Error) return String(value)
  try { return stringify(value) ?? String(value) } catch { return String(value) }
}
const noting = (level) => (...values) => {
  if (noted.isOver) return
  const line = values.map(spelled).join(' ').slice(0, ${CONSOLE_LINE_CHARS_MAX})
  noted.isOver = !note(level, line, new Error().stack.slice(0, ${STACK_CHARS_MAX}))
}
define(globalThis, { console: Object.fromEntries(${JSON.stringify(LEVELS)}.map((level) => [level, noting(level)])) })
`

type OnLine = ((line: ConsoleLine) => void) | undefined

interface SandboxConsole<Program> {
  /** The script's `note`. */
  readonly note: QuickJSHandle
  /** From now on, lines of `program` go to `onLine`, up to the limit. Undefined drops them. */
  direct(onLine: OnLine, program: Program): void
}

/** `placeOf` finds the place of a stack in the source. */
export function openConsole<Program>(
  context: QuickJSContext,
  placeOf: (program: Program, stack: string) => string,
): SandboxConsole<Program> {
  let take = (_line: readonly string[]): boolean => false
  return {
    note: context.newFunction('note', (...texts) =>
      areShort(context, texts) && take(texts.map((text) => context.getString(text))) ? context.true : context.false,
    ),
    direct(onLine, program) {
      let left = onLine === undefined ? 0 : CONSOLE_LINES_MAX
      take = ([name, text = '', stack = '']) => {
        const level = LEVELS.find((known) => known === name)
        if (left <= 0 || level === undefined) return false
        left -= 1
        const line = left === 0 ? `${text} (no more lines are shown)` : text
        onLine?.({ level, place: placeOf(program, stack), text: line })
        return left > 0
      }
    },
  }
}

const LIMITS = [10, CONSOLE_LINE_CHARS_MAX, STACK_CHARS_MAX]

/** A template may call `note` itself, so no text is read before its length is known. */
function areShort(context: QuickJSContext, texts: readonly QuickJSHandle[]): boolean {
  const lengths = texts.map((text) =>
    context.typeof(text) === 'string' ? context.getNumber(context.getProp(text, 'length')) : Number.POSITIVE_INFINITY,
  )
  return lengths.length === LIMITS.length && LIMITS.every((most, index) => (lengths[index] ?? 0) <= most)
}

/** Keeps the lines of a module, which runs once for many evaluations. */
export function keeping(lines: ConsoleLine[], onLine: NonNullable<OnLine>): NonNullable<OnLine> {
  return (line) => {
    lines.push(line)
    onLine(line)
  }
}
