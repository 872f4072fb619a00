/** What a Dockerfile says, as far as ours go: no heredocs, no ADD, no flags but those of COPY. */
import { readText } from '../architecture/source-tree.ts'

export interface Instruction {
  /** `COPY`. */
  readonly name: string
  readonly text: string
  /** The words of `text` that are flags: `--from=install`. */
  readonly flags: readonly string[]
  /** The other words. */
  readonly words: readonly string[]
}

export interface Stage {
  /** The image it begins with, arguments filled in with their defaults. */
  readonly base: string
  readonly instructions: readonly Instruction[]
}

/** The stages of a Dockerfile, the last one being the image. */
export function stagesOf(path: string): readonly Stage[] {
  const lines = readText(path)
    .replace(/^#.*\n/gm, '')
    .replace(/\\\n/g, ' ')
    .split('\n')
  const instructions = lines.filter((line) => line.trim() !== '').map(instructionOf)
  const defaults = new Map(instructions.filter(({ name }) => name === 'ARG').map(({ text }) => pairOf(text)))
  const stages: { base: string; instructions: Instruction[] }[] = []
  for (const instruction of instructions) {
    const [base = ''] = instruction.words
    const filled = base.replace(/\$\{(\w+)\}/, (_, name: string) => defaults.get(name) ?? '')
    if (instruction.name === 'FROM') stages.push({ base: filled, instructions: [] })
    else stages.at(-1)?.instructions.push(instruction)
  }
  return stages
}

function instructionOf(line: string): Instruction {
  const [name = '', ...words] = line.trim().split(/\s+/)
  const text = words.join(' ')
  const isFlag = (word: string) => word.startsWith('--')
  return { name, text, flags: words.filter(isFlag), words: words.filter((word) => !isFlag(word)) }
}

function pairOf(text: string): readonly [string, string] {
  const at = text.indexOf('=')
  return [text.slice(0, at), text.slice(at + 1)]
}

/** Does .dockerignore keep a file from the builder? The last pattern that fits a file or a folder above it decides. */
export function ignores(): (path: string) => boolean {
  const patterns = readText('.dockerignore')
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('#'))
    .map((line) => ({ keeps: line.startsWith('!'), form: formOf(line.replace(/^!/, '')) }))
  return (path) => {
    const names = path.split('/')
    const above = names.map((_, at) => names.slice(0, at + 1).join('/'))
    const last = patterns.findLast(({ form }) => above.some((each) => form.test(each)))
    return last !== undefined && !last.keeps
  }
}

function formOf(pattern: string): RegExp {
  const source = pattern
    .replaceAll('.', '\\.')
    .replaceAll('**/', '<any>')
    .replaceAll('*', '[^/]*')
    .replaceAll('<any>', '(.*/)?')
  return new RegExp(`^${source}$`)
}
