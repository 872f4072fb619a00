/**
 * Checks the source of a react_pdf template before it runs: syntax, names, variables, elements. TypeScript parses it and infers types from
 * the schema. A fault fails or prints nothing for all data; what an author may mean is a warning.
 *
 * The compiler takes 40 MiB and most of a second to load, so import this module only where templates are checked.
 */
import type { JsonObject } from '@platen/lib/brand.ts'
import type TS from 'typescript'
import type { Families } from '../asset/fonts.ts'
import { annotate, componentOf } from './annotate.ts'
import { type CompiledTemplate, type CompilerInput, openCompiler, parseTemplate, ts } from './compiler.ts'
import { absenceFindings, syntaxFindings, typeFindings } from './diagnostic.ts'
import { elementFindings } from './element-lint.ts'
import type { Finding } from './finding.ts'
import { TEMPLATE_FILE } from './transpile.ts'
import { variableFindings } from './variable-lint.ts'
import { declarationOf } from './variable-type.ts'

export interface TypeCheckInput {
  readonly source: string
  /** A valid schema. */
  readonly variablesSchema: JsonObject
  readonly families: Families
  /** Asks for warnings. They need a second check of the types. */
  readonly isWarned: boolean
}

export interface TypeFinding {
  /** Begins with the position: `template.tsx:12:5: …`. */
  readonly message: string
  readonly isWarning: boolean
}

/** Returns at most `FINDINGS_MAX` findings, in the order of the source. If there are faults, warnings are left out. */
export type CheckTypes = (input: TypeCheckInput) => readonly TypeFinding[]

/** One mistake often shows in many places. */
const FINDINGS_MAX = 10

export function openTypeCheck(): CheckTypes {
  const compile = openCompiler()
  const check: CheckTypes = ({ source, variablesSchema, families, isWarned }) => {
    const parsed = parseTemplate(source)
    const { text, positionBefore } = annotate(parsed)
    const input = { template: text, data: declarationOf(variablesSchema), isNullStrict: false }
    const found = findingsIn(compile(input), families)
    const faults = found.filter(({ isWarning }) => isWarning !== true)
    const warnings = () => [...found, ...absencesIn(compile, input)]
    const shown = faults.length > 0 ? faults : isWarned ? warnings() : []
    return placed(shown, (position) => placeOf(parsed, positionBefore(position)))
  }
  return (input) => {
    try {
      return check(input)
    } catch (cause) {
      // The compiler recurses over the source and over its types.
      if (!(cause instanceof RangeError)) throw cause
      return [{ message: `${TEMPLATE_FILE}: the source or its types are nested too deeply`, isWarning: false }]
    }
  }
}

function findingsIn(compiled: CompiledTemplate, families: Families): readonly Finding[] {
  const broken = syntaxFindings(compiled)
  if (broken.length > 0) return broken
  // TypeScript's own way to exclude a file from the check of types.
  if (UNCHECKED.test(compiled.file.text)) return []
  const findings = [...typeFindings(compiled), ...asyncFindings(compiled)]
  const lint = { ...compiled, families, seen: new Set<TS.Node>() }
  const visit = (node: TS.Node): void => {
    findings.push(...variableFindings(node, compiled), ...elementFindings(node, lint))
    ts.forEachChild(node, visit)
  }
  visit(compiled.file)
  return findings
}

/** Only for the exported component, which has no element that a render could name. */
function asyncFindings({ file }: CompiledTemplate): readonly Finding[] {
  const modifier = componentOf(file)?.modifiers?.find(({ kind }) => kind === ts.SyntaxKind.AsyncKeyword)
  if (modifier === undefined) return []
  const message = 'a component cannot be asynchronous: pass what it waits for in the data'
  return [{ position: modifier.getStart(), message }]
}

const UNCHECKED = /^\s*\/\/\s*@ts-nocheck\b/

function absencesIn(compile: (input: CompilerInput) => CompiledTemplate, input: CompilerInput): readonly Finding[] {
  return absenceFindings(compile({ ...input, isNullStrict: true }))
}

function placed(findings: readonly Finding[], placeAt: (position: number) => string): readonly TypeFinding[] {
  const ordered = findings.toSorted((one, other) => one.position - other.position)
  const byMessage = new Map(
    ordered.map(({ position, message, isWarning = false }) => {
      const text = `${placeAt(position)}: ${message}`
      return [text, { message: text, isWarning }] as const
    }),
  )
  return [...byMessage.values()].slice(0, FINDINGS_MAX)
}

function placeOf(file: TS.SourceFile, position: number): string {
  const { line, character } = file.getLineAndCharacterOfPosition(position)
  return `${TEMPLATE_FILE}:${line + 1}:${character + 1}`
}
