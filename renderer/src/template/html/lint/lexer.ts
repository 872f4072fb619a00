/** Answers questions about styles from the dictionary of css-tree, where there is no browser to ask. Pure. */
import { lexer } from 'css-tree'
import { BOXES, type Question, type Refusal, type StyleAnswer } from './ignored.ts'

/** `questions` is JSON of a list of `Question`. */
export function answerByDictionary(questions: string): StyleAnswer {
  const asked = JSON.parse(questions) as readonly Question[]
  const refused = asked.flatMap((question, index): readonly Refusal[] => {
    const refusal = refusalOf(question)
    return refusal === undefined ? [] : [{ ...refusal, index }]
  })
  return { refused, names: Object.keys(PROPERTIES) }
}

/** Missing in the types of css-tree. */
const { properties: PROPERTIES } = lexer as unknown as { readonly properties: Readonly<Record<string, unknown>> }

/** At-rules that Chromium knows but the dictionary does not. */
const RULES = new Set(['function', 'position-try', 'view-transition'])

function refusalOf([kind, name, values]: Question): Omit<Refusal, 'index'> | undefined {
  if (kind === 'rule' && name !== 'page' && lexer.checkAtruleName(name) !== undefined && !RULES.has(name))
    return UNKNOWN
  if (kind === 'box' && !BOXES.includes(name)) return UNKNOWN
  if (kind === 'page' && name === 'size')
    return values.some((value) => fits(lexer.matchAtruleDescriptor('page', name, value))) ? undefined : WRONG
  if (kind === 'face')
    return values.some((value) => fits(lexer.matchAtruleDescriptor('font-face', name, value))) ? undefined : WRONG
  if (kind !== 'declaration') return undefined
  if (!Object.hasOwn(PROPERTIES, name)) return UNKNOWN
  const bare = (value: string) => (name === 'content' ? value.replaceAll(/\battr\([^()]*\)/gi, '"x"') : value)
  if (values.some((value) => fits(lexer.matchProperty(name, bare(value))))) return undefined
  const isUnitMissing = values.some(
    (value) => NUMBERS.test(value) && fits(lexer.matchProperty(name, value.replaceAll(/[\d.]+/g, '$&px'))),
  )
  return { ...WRONG, isUnitMissing }
}

const UNKNOWN = { isNameKnown: false, isUnitMissing: false }
const WRONG = { isNameKnown: true, isUnitMissing: false }

export const NUMBERS = /^[-+\d.\s]+$/

/** A value with `var()` is neither a match nor a mismatch. */
function fits({ error }: ReturnType<typeof lexer.matchProperty>): boolean {
  return error === null || error.name !== 'SyntaxMatchError'
}
