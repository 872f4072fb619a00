/**
 * Reports what Liquid does not know or silently ignores: it reads `{{ a if b else "-" }}` as `{{ a }}`. Messages say what to write, also
 * for the syntax of other languages. Needs no parsed source, so it also explains a source that does not parse.
 */
import { type TagToken, Tokenizer, type TopLevelToken, TypeGuards } from 'liquidjs'
import type { SourceFault } from './faults.ts'
import { filterFor, tagFor } from './habit.ts'
import { shortened } from './path.ts'

/** Faults reported for one source. */
const FAULTS_MAX = 10

/** In the order of the source. None if a tag or output is not closed: the parser reports that. */
export function syntaxFaults(source: string): readonly SourceFault[] {
  const faults: SourceFault[] = []
  const blocks: Block[] = []
  for (const piece of piecesOf(source)) {
    if (faults.length >= FAULTS_MAX) break
    const fault = faultOf(piece, blocks)
    if (fault === undefined) continue
    faults.push({ position: positionOf(source, fault.at), message: `${piece.text}: ${fault.message}` })
  }
  return faults
}

interface Piece {
  /** Undefined for an output or text. */
  readonly tag?: string
  readonly kind: 'tag' | 'output' | 'text'
  readonly text: string
  readonly begin: number
  readonly cursor: Cursor
}

/** A place in the source. `end` is the end of the tag or output. */
interface Cursor {
  readonly source: string
  readonly end: number
  at: number
  /** Filters may follow an expression. */
  takesFilters?: boolean
  readonly isOutput?: boolean
}

function restOf({ source, at, end }: Cursor): string {
  return source.slice(at, end)
}

function isAtEnd(cursor: Cursor): boolean {
  skipBlank(cursor)
  return cursor.at >= cursor.end
}

function skipBlank(cursor: Cursor): void {
  while (cursor.at < cursor.end && /\s/.test(cursor.source.charAt(cursor.at))) cursor.at += 1
}

function take(cursor: Cursor, sign: string): boolean {
  skipBlank(cursor)
  if (cursor.at >= cursor.end || cursor.source.charAt(cursor.at) !== sign) return false
  cursor.at += 1
  return true
}

/** Without comments and raw parts. */
function* piecesOf(source: string): Generator<Piece> {
  let tokens: readonly TopLevelToken[]
  try {
    tokens = new Tokenizer(source).readTopLevelTokens()
  } catch {
    return
  }
  yield* withoutComments(source, tokens)
}

function* withoutComments(source: string, tokens: readonly TopLevelToken[]): Generator<Piece> {
  let isComment = false
  for (const token of tokens) {
    if (isTag(token)) {
      if (isComment && token.name !== 'endcomment') continue
      isComment = token.name === 'comment'
      if (token.name === 'liquid') yield* linesOf(source, token)
      const [, end] = token.contentRange
      yield {
        kind: 'tag',
        tag: token.name,
        begin: token.begin,
        text: oneLine(token.getText()),
        cursor: { source, at: token.tokenizer.p, end },
      }
      continue
    }
    if (isComment) continue
    const isOutput = TypeGuards.isOutputToken(token)
    const [at, end] = isOutput ? token.contentRange : [token.begin, token.end]
    const { begin } = token
    yield {
      kind: isOutput ? 'output' : 'text',
      text: oneLine(token.getText()),
      begin,
      cursor: { source, at, end, isOutput },
    }
  }
}

function* linesOf(source: string, { tokenizer }: TagToken): Generator<Piece> {
  try {
    yield* withoutComments(source, tokenizer.readLiquidTagTokens())
  } catch {
    // The parser reports it.
  }
}

function isTag(token: TopLevelToken): token is TagToken {
  return TypeGuards.isTagToken(token)
}

function oneLine(text: string): string {
  return shortened(text.slice(0, TEXT_CHARS_MAX).replaceAll(/\s+/g, ' ').trim())
}

const TEXT_CHARS_MAX = 200

function positionOf(source: string, at: number): readonly number[] {
  const before = source.slice(0, at)
  return [before.split('\n').length, at - before.lastIndexOf('\n')]
}

class Fault extends Error {
  readonly at: number

  constructor(at: number, message: string) {
    super(message)
    this.at = at
  }
}

function faultOf(piece: Piece, blocks: Block[]): Fault | undefined {
  try {
    if (piece.kind === 'output') readOutput(piece.cursor)
    if (piece.tag !== undefined) readTag(piece.tag, piece, blocks)
    else refuseBeforeWhen(piece, blocks)
    return undefined
  } catch (error) {
    if (error instanceof Fault) return error
    // Brackets are nested too deeply. The parser reports that.
    if (error instanceof RangeError) return undefined
    throw error
  }
}

interface Block {
  readonly tag: string
  hasBranch: boolean
  hasElse: boolean
}

const BLOCKS = ['if', 'unless', 'case', 'for', 'tablerow', 'capture']

function readTag(tag: string, { begin, cursor }: Piece, blocks: Block[]): void {
  const block = blocks.at(-1)
  if (BLOCKS.includes(tag)) blocks.push({ tag, hasBranch: false, hasElse: false })
  if (tag === `end${block?.tag}`) blocks.pop()
  if (tag === 'end') throw new Fault(begin, `write {% end${block?.tag ?? 'if'} %}`)
  const other = tagFor(tag)
  if (other !== undefined) throw new Fault(begin, `there is no tag ${tag}: ${other}`)
  if (tag === 'else' || tag === 'elsif' || tag === 'when')
    enterBranch(tag, { begin, isElse: tag === 'else' && isAtEnd(cursor) }, block)
  TAGS.get(tag)?.(cursor)
  if (/^end(?!comment$|raw$)/.test(tag)) refuseRest(cursor, `nothing follows ${tag}`)
}

/** Liquid ignores a branch after `else`. */
function enterBranch(tag: string, at: { begin: number; isElse: boolean }, block: Block | undefined): void {
  if (block === undefined) return
  if (block.hasElse) throw new Fault(at.begin, `${tag} after else is never printed`)
  block.hasBranch = true
  block.hasElse = at.isElse
}

function refuseBeforeWhen({ kind, text, cursor }: Piece, blocks: readonly Block[]): void {
  const block = blocks.at(-1)
  if (block?.tag !== 'case' || block.hasBranch || (kind === 'text' && text.trim() === '')) return
  throw new Fault(cursor.at, 'what is between case and its first when is never printed')
}

const TAGS: ReadonlyMap<string, (cursor: Cursor) => void> = new Map(
  Object.entries<(cursor: Cursor) => void>({
    if: readCondition,
    unless: readCondition,
    elsif: readCondition,
    case: readCondition,
    echo(cursor) {
      cursor.takesFilters = true
      if (!isAtEnd(cursor)) readCondition(cursor)
    },
    else(cursor) {
      const [, condition] = /^\s*if\b\s*(.*)/s.exec(restOf(cursor)) ?? []
      if (condition !== undefined) throw new Fault(cursor.at, `write {% elsif ${oneLine(condition)} %}`)
      refuseRest(cursor, 'nothing follows else')
    },
    when: readWhen,
    for: readLoop,
    tablerow: readLoop,
    assign: readAssign,
    capture(cursor) {
      if (readQuoted(cursor) === undefined && readWord(cursor) === '')
        throw new Fault(cursor.at, 'the name of a variable is missing')
      const text = /^\s*=/.test(restOf(cursor))
        ? 'write {% assign %} for a value, or what is captured before {% endcapture %}'
        : 'nothing follows the name'
      refuseRest(cursor, text)
    },
    cycle: readCycle,
    increment: readCounter,
    decrement: readCounter,
    break: refuseAfterWord,
    continue: refuseAfterWord,
    qrcode: readFigure,
    barcode: readFigure,
    paymentcode: readFigure,
    chart: readFigure,
  }),
)

function refuseAfterWord(cursor: Cursor): void {
  const [, condition] = /^\s*if\b\s*(.*)/s.exec(restOf(cursor)) ?? []
  refuseRest(
    cursor,
    condition === undefined ? 'nothing follows it' : `write it inside of {% if ${oneLine(condition)} %}`,
  )
}

function readCounter(cursor: Cursor): void {
  if (readWord(cursor) === '') throw new Fault(cursor.at, 'the name of a variable is missing')
  refuseRest(cursor, 'it counts by one; write {% assign x = x | plus: … %} for another step')
}

function readAssign(cursor: Cursor): void {
  const name = readWord(cursor)
  if (name === '') throw new Fault(cursor.at, 'the name of a variable is missing')
  skipBlank(cursor)
  const [step = ''] = /^[+*/-]=/.exec(restOf(cursor)) ?? []
  if (step !== '') throw new Fault(cursor.at, `write ${name} = ${name} | ${ARITHMETIC.get(step.charAt(0))}: …`)
  if (/^[.[]/.test(restOf(cursor))) throw new Fault(cursor.at, 'a field cannot be set: assign to a variable of its own')
  if (!/^=(?!=)/.test(restOf(cursor))) throw new Fault(cursor.at, `write ${name} = …`)
  cursor.at += 1
  cursor.takesFilters = true
  readCondition(cursor)
}

function readCycle(cursor: Cursor): void {
  const start = cursor.at
  readOperand(cursor)
  skipBlank(cursor)
  if (restOf(cursor).startsWith(':')) cursor.at += 1
  else cursor.at = start
  do {
    readFiltered(cursor)
  } while (take(cursor, ',') && !isAtEnd(cursor))
  refuseRest(cursor, 'write a comma between the values')
}

function readWhen(cursor: Cursor): void {
  for (;;) {
    skipBlank(cursor)
    const [operator] = /^(?:[<>]=?|[!=]=|contains\b)/.exec(restOf(cursor)) ?? []
    if (operator !== undefined)
      throw new Fault(cursor.at, `when takes values; write {% if %} and {% elsif %} for ${operator}`)
    readOperand(cursor)
    skipBlank(cursor)
    if (isAtEnd(cursor)) return
    if (take(cursor, ',')) {
      if (isAtEnd(cursor)) return
    } else if (/^or\b/.test(restOf(cursor))) cursor.at += 2
    else
      refuseRest(
        cursor,
        restOf(cursor).startsWith('|') ? 'when takes no filter' : 'write a comma or "or" between the values',
      )
  }
}

const LOOP_NAMES = ['limit', 'offset', 'cols', 'reversed']

function readLoop(cursor: Cursor): void {
  const variable = readWord(cursor)
  skipBlank(cursor)
  const at = cursor.at
  if (variable !== '' && /^,\s*[\w-]+\s+in\b/.test(restOf(cursor)))
    throw new Fault(
      at,
      'a loop has one variable: write {% for pair in map %}, pair[0] is the key and pair[1] the value',
    )
  const between = readWord(cursor)
  if (variable === '' || between !== 'in') throw new Fault(at, `write {% for ${variable || 'x'} in list %}`)
  const before = cursor.at
  readOperand(cursor)
  const list = cursor.source.slice(before, cursor.at).trim()
  skipBlank(cursor)
  const rest = restOf(cursor)
  const [range] = /^\.\.\s*[\w.-]+/.exec(rest) ?? []
  if (range !== undefined) throw new Fault(before, `write (${list}${range})`)
  if (rest.startsWith('|'))
    throw new Fault(cursor.at, `a loop takes no filter: write {% assign x = ${list} ${oneLine(rest)} %} before it`)
  const names = new Set<string>()
  while (!isAtEnd(cursor)) {
    take(cursor, ',')
    skipBlank(cursor)
    const start = cursor.at
    const name = readWord(cursor)
    if (name === 'if')
      throw new Fault(start, `write {% if %} inside of the loop, or {% assign x = ${list} | where: … %} before it`)
    if (!LOOP_NAMES.includes(name))
      throw new Fault(
        start,
        `a loop takes limit, offset and reversed after its list, and no ${oneLine(name || restOf({ ...cursor, at: start }))}`,
      )
    readNamed(cursor, { name, start, names })
  }
}

interface Name {
  readonly name: string
  readonly start: number
  readonly names: Set<string>
}

function readNamed(cursor: Cursor, { name, start: begin, names }: Name): void {
  if (names.has(name)) throw new Fault(begin, `${name} is there twice`)
  names.add(name)
  if (name === 'reversed') return
  if (!take(cursor, ':')) throw new Fault(cursor.at, `write ${name}: …`)
  skipBlank(cursor)
  const start = cursor.at
  readOperand(cursor)
  const value = cursor.source.slice(start, cursor.at)
  skipBlank(cursor)
  refuseForeign(cursor, value)
}

function readFigure(cursor: Cursor): void {
  const name = /^\s*[\w-]+\s*:/
  const names = new Set<string>()
  if (!isAtEnd(cursor) && !name.test(restOf(cursor))) readOperand(cursor)
  for (;;) {
    skipBlank(cursor)
    take(cursor, ',')
    if (isAtEnd(cursor)) return
    if (!name.test(restOf(cursor))) {
      const isFilter = restOf(cursor).startsWith('|')
      refuseRest(
        cursor,
        isFilter
          ? 'this tag takes no filter: write {% assign x = … %} before it'
          : 'write a name and a colon before each further value',
      )
    }
    skipBlank(cursor)
    const start = cursor.at
    readNamed(cursor, { name: readWord(cursor), start, names })
  }
}

/** Reads an expression with filters up to the end. */
function readCondition(cursor: Cursor): void {
  readFiltered(cursor)
  refuseRest(cursor, 'an operator or a filter is missing between two values')
}

function readOutput(cursor: Cursor): void {
  const content = restOf(cursor).trim()
  const foreign = handlebars(content) ?? tagAsOutput(content)
  if (foreign !== undefined) throw new Fault(cursor.at, foreign)
  if (/^\.(?!\d)/.test(content)) throw new Fault(cursor.at, 'write the name without a dot before it')
  if (content.startsWith('=')) throw new Fault(cursor.at, 'write {{ x }}, without =')
  cursor.takesFilters = true
  readCondition(cursor)
}

function handlebars(content: string): string | undefined {
  const [, sign = '', word = '', rest = ''] = /^~?\s*([#/>^!&{@]|else\b)\s*([\w.-]*)\s*(.*)/s.exec(content) ?? []
  const list = oneLine(rest.replace(/\s+as\s.*$|[\s~}]+$/s, '')) || 'x'
  switch (sign) {
    case '#': {
      if (word === 'each') return `this is Liquid: write {% for item in ${list} %} … {% endfor %}`
      if (word === 'if' || word === 'unless') return `this is Liquid: write {% ${word} ${list} %} … {% end${word} %}`
      if (word === 'with') return `this is Liquid: write {% assign item = ${list} %}`
      return `this is Liquid: write {% for item in ${word} %} … {% endfor %}, or {% if ${word} %} … {% endif %}`
    }
    case '/':
      return `this is Liquid: write {% end${word === 'if' || word === 'unless' ? word : 'for'} %}`
    case '>':
      return 'there are no partials: a template is one file'
    case '^':
      return `this is Liquid: write {% unless ${word} %} … {% endunless %}`
    case '!':
      return word === '' || rest !== '' || content.startsWith('!-')
        ? 'this is Liquid: write {% comment %} … {% endcomment %}'
        : `write not ${word}, or {% comment %} … {% endcomment %}`
    case '&':
    case '{':
      return `this is Liquid: write {{ ${word || 'x'} | raw }}`
    case '@':
      return `this is Liquid: write ${LOOP_FIELDS.get(word) ?? 'the name of a variable'} for @${word}`
    case 'else':
      return word === 'if' ? `write {% elsif ${list} %}` : 'write {% else %}'
  }
  return undefined
}

const LOOP_FIELDS: ReadonlyMap<string, string> = new Map([
  ['index', 'forloop.index0'],
  ['first', 'forloop.first'],
  ['last', 'forloop.last'],
  ['key', 'pair[0]'],
])

function tagAsOutput(content: string): string | undefined {
  const [, opening, closing] =
    /^(?:(if|unless|elsif|for|case|when|assign|capture|range)(?=\s+[\w"'(.$])|(end(?:if|for|unless|case|capture|each))$)/.exec(
      content,
    ) ?? []
  if (opening === undefined && closing === undefined) return undefined
  if (opening === 'range') return 'this is Liquid: write {% for item in list %} … {% endfor %}'
  return `a tag stands in {% %}: write {% ${oneLine(content)} %}`
}

const OPERATOR_WORDS: ReadonlyMap<string, string> = new Map([
  ['AND', 'and'],
  ['OR', 'or'],
  ['NOT', 'not'],
  ['eq', '=='],
  ['equals', '=='],
  ['ne', '!='],
  ['neq', '!='],
  ['gt', '>'],
  ['lt', '<'],
  ['gte', '>='],
  ['ge', '>='],
  ['lte', '<='],
  ['le', '<='],
  ['includes', 'contains'],
  ['like', 'contains'],
])

const OPERATOR = /^(?:==|!=|>=|<=|>|<|(?:contains|and|or)(?![\w?-]))/

function readExpression(cursor: Cursor): void {
  let operator = ''
  for (;;) {
    skipBlank(cursor)
    while (/^not(?![\w?-])/.test(restOf(cursor))) {
      cursor.at += 3
      operator = 'not'
      skipBlank(cursor)
    }
    if (isAtEnd(cursor))
      throw new Fault(cursor.at, operator === '' ? 'a value is missing' : `a value is missing after ${operator}`)
    const start = cursor.at
    readOperand(cursor)
    const left = cursor.source.slice(start, cursor.at)
    skipBlank(cursor)
    refuseForeign(cursor, left)
    const [next] = OPERATOR.exec(restOf(cursor)) ?? []
    if (next === undefined) return
    cursor.at += next.length
    operator = next
  }
}

const ARITHMETIC: ReadonlyMap<string, string> = new Map([
  ['+', 'plus'],
  ['-', 'minus'],
  ['*', 'times'],
  ['/', 'divided_by'],
  ['%', 'modulo'],
])

/** Reports the syntax of other languages after a value. */
function refuseForeign(cursor: Cursor, left: string): void {
  const { at } = cursor
  const rest = restOf(cursor)
  const refuse = (message: string): never => {
    throw new Fault(at, message)
  }
  // An output ends at the next }}, and a tag at the next %}.
  if (rest.startsWith('%}') || (cursor.isOutput === true && rest.includes('{{'))) refuse('}} is missing')
  if (rest.startsWith('}')) refuse(`${cursor.isOutput === true ? '}}' : '%}'} is missing`)
  if (/^(?:===|=(?![=<>]))/.test(rest)) refuse('write == to compare')
  if (/^(?:!==|<>)/.test(rest)) refuse('write != to compare')
  if (/^=[<>]/.test(rest)) refuse(`write ${rest.charAt(1)}=`)
  if (rest.startsWith('&')) refuse('write and')
  if (rest.startsWith('||')) refuse(cursor.takesFilters === true ? `write ${left} | default: …` : 'write or')
  if (rest.startsWith('??') || rest.startsWith('?:')) refuse(`write ${left} | default: …`)
  if (rest.startsWith('?') || (rest.startsWith(':') && left.includes('?')))
    refuse(`write {% if ${left.replace(/\?.*/s, '')} %} … {% else %} … {% endif %}`)
  if (rest.startsWith('~')) refuse(`write ${left} | append: ${operandAfter(cursor, 1)}`)
  const [sign = ''] = /^[+*/%-]/.exec(rest) ?? []
  if (sign !== '') {
    const right = operandAfter(cursor, 1)
    const isText = sign === '+' && [left, right].some((text) => /^["']/.test(text))
    const sum = `${left} | ${isText ? 'append' : ARITHMETIC.get(sign)}: ${right}`
    refuse(cursor.takesFilters === true ? `write ${sum}` : `write {% assign n = ${sum} %} before it, and n here`)
  }
  if (rest.startsWith('(')) refuse(isMethod(cursor, left) ? methodMessage(left) : PARENTHESES)
  if (/^not\s+in\b/.test(rest))
    refuse(`write not ${operandAfter(cursor, /^not\s+in/.exec(rest)?.[0].length ?? 0)} contains ${left}`)
  const [word = ''] = /^[A-Za-z]+(?![\w?-])/.exec(rest) ?? []
  if (word === 'not') refuse('an operator is missing before not')
  if (word === 'in') refuse(`write ${operandAfter(cursor, 2)} contains ${left}`)
  if (word === 'if') refuse(inlineIf(left, rest))
  if (word === 'is') refuse(jinjaTest(left, rest.slice(2).trim()))
  const operator = OPERATOR_WORDS.get(word)
  if (operator !== undefined) refuse(`write ${operator}`)
}

const PARENTHESES = 'Liquid has no parentheses: write the inner part in an {% assign %} or {% if %} of its own'

function isMethod({ source, at }: Cursor, left: string): boolean {
  return /[\w\])]$/.test(source.slice(0, at)) && left.length > 0
}

function methodMessage(left: string): string {
  const [, owner = '', method = ''] = /^(.*?)\.?([\w-]+)$/s.exec(left) ?? []
  const filter = filterFor(method)
  const value = oneLine(owner) || 'x'
  if (method === 'toFixed') return `a value has no methods: write ${value} | number: "en-US", 2`
  return filter === undefined
    ? `a value has no methods: write a filter, as in ${value} | upcase`
    : `a value has no methods: write ${value} | ${filter}`
}

function inlineIf(left: string, rest: string): string {
  const [, condition = '', other] = /^if\s+(.*?)(?:\s+else\s+(.*))?$/s.exec(rest) ?? []
  const otherwise = other === undefined ? '' : `{% else %}{{ ${oneLine(other.trim())} }}`
  return `write {% if ${oneLine(condition.trim())} %}{{ ${left} }}${otherwise}{% endif %}`
}

function jinjaTest(left: string, test: string): string {
  const isNot = /^not\b/.test(test)
  const [name = ''] = /^\w+/.exec(test.replace(/^not\s+/, '')) ?? []
  if (name === 'defined') return isNot ? `write {% unless ${left} %}` : `write {% if ${left} %}`
  const value = /^(?:none|null|undefined)$/i.test(name) ? 'nil' : name.toLowerCase() || '…'
  return `write ${left} ${isNot ? '!=' : '=='} ${value}`
}

/** The source of the value after `chars` characters. */
function operandAfter({ source, at, end }: Cursor, chars: number): string {
  const after = { source, end, at: at + chars }
  skipBlank(after)
  const start = after.at
  try {
    readOperand(after)
  } catch {
    return '…'
  }
  return oneLine(source.slice(start, after.at))
}

function readFiltered(cursor: Cursor): void {
  skipBlank(cursor)
  const start = cursor.at
  readExpression(cursor)
  while (take(cursor, '|')) {
    const name = readWord(cursor)
    // Liquid allows a | at the end. The check against the schema reports it.
    if (name === '' && isAtEnd(cursor)) return
    if (name === '') throw new Fault(cursor.at, 'the name of a filter is missing after |')
    if (take(cursor, ':')) readArguments(cursor, name)
    const left = cursor.source.slice(start, cursor.at).trim()
    const rest = isAtEnd(cursor) ? '' : restOf(cursor)
    if (rest.startsWith('(') || /^["'\d]/.test(rest))
      throw new Fault(cursor.at, `write ${name}: … for the arguments of a filter`)
    if (OPERATOR.test(rest))
      throw new Fault(cursor.at, `write {% assign n = ${oneLine(left)} %} before it, and compare n`)
    refuseForeign(cursor, left)
  }
}

function readArguments(cursor: Cursor, filter: string): void {
  do {
    skipBlank(cursor)
    if (isAtEnd(cursor) || /^[|,]/.test(restOf(cursor))) continue
    const start = cursor.at
    readOperand(cursor)
    const name = cursor.source.slice(start, cursor.at)
    skipBlank(cursor)
    if (restOf(cursor).startsWith('=') && !restOf(cursor).startsWith('=='))
      throw new Fault(cursor.at, `write ${name}: … for an argument with a name`)
    if (take(cursor, ':')) readOperand(cursor)
    skipBlank(cursor)
    if (/^[+*/%~-]/.test(restOf(cursor))) refuseForeign({ ...cursor, takesFilters: false }, name)
    if (
      !isAtEnd(cursor) &&
      !/^[|,]/.test(restOf(cursor)) &&
      !OPERATOR.test(restOf(cursor)) &&
      !/^(?:[)?&=;:]|if\b)/.test(restOf(cursor))
    )
      throw new Fault(cursor.at, `write a comma between the arguments of ${filter}`)
  } while (take(cursor, ','))
}

function refuseRest(cursor: Cursor, message: string): void {
  skipBlank(cursor)
  if (isAtEnd(cursor)) return
  const rest = restOf(cursor)
  if (rest.startsWith(',')) throw new Fault(cursor.at, 'a comma stands only between arguments')
  if (rest.startsWith(')')) throw new Fault(cursor.at, ') closes nothing')
  if (rest.startsWith(';')) throw new Fault(cursor.at, 'leave out the ;')
  throw new Fault(cursor.at, message)
}

function readOperand(cursor: Cursor): void {
  skipBlank(cursor)
  const { at } = cursor
  const rest = restOf(cursor)
  const refuse = (message: string): never => {
    throw new Fault(at, message)
  }
  if (rest === '') refuse('a value is missing')
  if (rest.startsWith('(')) return readRange(cursor)
  const [number] = /^[-+]?\d+(?:\.(?!\.)\d*)?(?![\w?-])/.exec(rest) ?? []
  if (number !== undefined) {
    cursor.at += number.length
    return
  }
  if (/^\.\d/.test(rest)) refuse(`write 0${/^\.\d+/.exec(rest)?.[0] ?? ''}`)
  if (rest.startsWith('!')) refuse(`write not ${operandAfter(cursor, 1)}`)
  if (/^[“”‘’„«]/.test(rest)) refuse('write straight quotes, " or \'')
  if (/^-\s*[A-Za-z_("']/.test(rest)) refuse(`write 0 | minus: ${operandAfter(cursor, 1)}`)
  if (/^\[\s*(?:\]|[^[\]]*,)/.test(rest)) refuse('Liquid has no lists of its own: write "a,b" | split: ","')
  if (/^[$@#^`\\]/.test(rest)) refuse(`no name begins with ${rest.charAt(0)}`)
  if (rest.startsWith('{')) refuse('Liquid has no objects of its own: pass it in the data')
  if (OPERATOR.test(rest)) refuse(`a value is missing before ${OPERATOR.exec(rest)?.[0] ?? ''}`)
  if (readQuoted(cursor) === undefined && !rest.startsWith('[') && readWord(cursor) === '') refuse('a value is missing')
  readPath(cursor)
}

function readPath(cursor: Cursor): void {
  for (;;) {
    const rest = restOf(cursor)
    if (rest.startsWith('[')) {
      cursor.at += 1
      const start = cursor.at
      readOperand(cursor)
      const index = cursor.source.slice(start, cursor.at).trim()
      skipBlank(cursor)
      if (isAtEnd(cursor)) throw new Fault(start - 1, '] is missing')
      refuseForeign({ ...cursor, takesFilters: false }, index)
      if (!take(cursor, ']')) throw new Fault(cursor.at, 'write ] after the index')
      continue
    }
    if (!/^\.(?!\.)/.test(rest)) return
    if (cursor.source.charAt(cursor.at - 1) === '?')
      throw new Fault(cursor.at - 1, 'write . for ?. because a field of nothing is nothing')
    cursor.at += 1
    if (!WORD.test(restOf(cursor).charAt(0)))
      throw new Fault(cursor.at - 1, 'the name of a field is missing after the dot')
    readWord(cursor)
  }
}

function readRange(cursor: Cursor): void {
  const start = cursor.at
  cursor.at += 1
  readOperand(cursor)
  skipBlank(cursor)
  if (!restOf(cursor).startsWith('..')) throw new Fault(start, PARENTHESES)
  cursor.at += 2
  readOperand(cursor)
  skipBlank(cursor)
  if (!take(cursor, ')')) throw new Fault(cursor.at, 'write ) after the end of a range')
}

function readQuoted(cursor: Cursor): string | undefined {
  skipBlank(cursor)
  const [text] = /^(?:"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')/s.exec(restOf(cursor)) ?? []
  if (text === undefined && /^["']/.test(restOf(cursor))) throw new Fault(cursor.at, 'the text is not closed')
  cursor.at += text?.length ?? 0
  return text
}

/** What Liquid accepts in a name. */
const WORD = /[\w?-]|[^\0-\x7f\s\u180e“”]/

function readWord(cursor: Cursor): string {
  skipBlank(cursor)
  const start = cursor.at
  while (cursor.at < cursor.end && WORD.test(cursor.source.charAt(cursor.at))) cursor.at += 1
  return cursor.source.slice(start, cursor.at)
}
