export const VALUE_KINDS = ['object', 'array', 'string', 'number', 'boolean', 'null'] as const

export type ValueKind = (typeof VALUE_KINDS)[number]

const WORDS: Readonly<Record<ValueKind, string>> = {
  object: 'an object',
  array: 'a list',
  string: 'a string',
  number: 'a number',
  boolean: 'true or false',
  null: 'null',
}

/** Such as `a string or null`. */
export function kindWords(kinds: ReadonlySet<ValueKind>): string {
  return VALUE_KINDS.filter((kind) => kinds.has(kind))
    .map((kind) => WORDS[kind])
    .join(' or ')
}

export function isOnly(kinds: ReadonlySet<ValueKind>, kind: ValueKind): boolean {
  return kinds.has(kind) && VALUE_KINDS.every((each) => each === kind || each === 'null' || !kinds.has(each))
}
