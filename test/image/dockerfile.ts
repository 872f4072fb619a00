/** What our Dockerfile says: no heredocs, no ADD, no flags but those of COPY. */
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

/** An image, with what it has from the stages that it begins with. */
export interface Image {
  /** The images from which it and what it copies are made, arguments filled in with their defaults. */
  readonly bases: readonly string[]
  readonly instructions: readonly Instruction[]
  /** Of the stage from which it copies what is installed. */
  readonly installing: readonly Instruction[]
}

interface Stage {
  readonly base: string
  readonly instructions: Instruction[]
}

/** The image of a target of our Dockerfile. */
export function imageNamed(target: string): Image {
  const stages = readStages()
  const imageOf = (name: string): Stage => {
    const stage = stages.get(name)
    if (stage === undefined) return { base: name, instructions: [] }
    const { base, instructions } = imageOf(stage.base)
    return { base, instructions: [...instructions, ...stage.instructions] }
  }
  const { base, instructions } = imageOf(target)
  const installing = imageOf(`install-${target}`)
  return { bases: [installing.base, base], instructions, installing: installing.instructions }
}

/** Each under its name. */
function readStages(): ReadonlyMap<string, Stage> {
  const lines = readText('Dockerfile')
    .replace(/^#.*\n/gm, '')
    .replace(/\\\n/g, ' ')
    .split('\n')
  const instructions = lines.filter((line) => line.trim() !== '').map(instructionOf)
  const defaults = new Map(instructions.filter(({ name }) => name === 'ARG').map(({ text }) => pairOf(text)))
  const stages = new Map<string, Stage>()
  let current: Stage | undefined
  for (const instruction of instructions) {
    if (instruction.name !== 'FROM') {
      current?.instructions.push(instruction)
      continue
    }
    const [base = '', , name = ''] = instruction.words
    current = {
      base: base.replace(/\$\{(\w+)\}/, (_, argument: string) => defaults.get(argument) ?? ''),
      instructions: [],
    }
    stages.set(name, current)
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
