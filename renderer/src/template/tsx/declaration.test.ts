import { readdirSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import type TS from 'typescript'
import { describe, expect, test } from 'vitest'
import { openCompiler, ts } from './compiler.ts'
import { isLibraryFile, RARE_NAMES, withoutRare } from './declaration.ts'
import { openTypeCheck } from './type-check.ts'

const folder = dirname(createRequire(import.meta.url).resolve('typescript'))
const texts = readdirSync(folder)
  .filter(isLibraryFile)
  .map((name) => readFileSync(join(folder, name), 'utf8'))

/** How often each name is declared at the top of the files. */
function declared(files: readonly string[]): ReadonlyMap<string, number> {
  const counts = new Map<string, number>()
  const statements = files.flatMap((text) => ts.createSourceFile('lib.d.ts', text, ts.ScriptTarget.ES2023).statements)
  for (const statement of statements)
    for (const name of namesOf(statement)) counts.set(name, (counts.get(name) ?? 0) + 1)
  return counts
}

function namesOf(statement: TS.Statement): readonly string[] {
  if (ts.isVariableStatement(statement))
    return statement.declarationList.declarations.flatMap(({ name }) => (ts.isIdentifier(name) ? [name.text] : []))
  const isNamed =
    ts.isInterfaceDeclaration(statement) ||
    ts.isTypeAliasDeclaration(statement) ||
    ts.isFunctionDeclaration(statement) ||
    ts.isModuleDeclaration(statement)
  if (!isNamed) throw new Error(`a statement of another kind: ${ts.SyntaxKind[statement.kind]}`)
  return statement.name === undefined ? [] : [statement.name.text]
}

/** What TypeScript says of the library and the sandbox, themselves included. */
function faultsOf(template: string): readonly string[] {
  const { program } = openCompiler()({ template, data: 'declare namespace PlatenData {}', isNullStrict: false })
  const checked = ts.createProgram({
    rootNames: program.getRootFileNames(),
    options: { ...program.getCompilerOptions(), skipLibCheck: false },
    host: { ...ts.createCompilerHost({}), ...hostOf(program) },
  })
  return ts.getPreEmitDiagnostics(checked).map(({ messageText }) => ts.flattenDiagnosticMessageText(messageText, ' '))
}

function hostOf(program: TS.Program): Partial<TS.CompilerHost> {
  return {
    getSourceFile: (name) => program.getSourceFile(name),
    getDefaultLibFileName: () => '/library/lib.es2023.d.ts',
    getDefaultLibLocation: () => '/library',
    getCurrentDirectory: () => '/',
  }
}

describe('without the rare names the library', () => {
  test('has all others, and of those nothing', () => {
    const rare = RARE_NAMES.flatMap((name) => [name, `${name}Constructor`, `${name}Handler`])
    const others = [...declared(texts)].filter(([name]) => !rare.includes(name))
    expect(declared(texts.map(withoutRare))).toEqual(new Map(others))
    expect(RARE_NAMES.filter((name) => !declared(texts).has(name))).toEqual([])
  })

  test('refers to nothing that it has not', () => {
    // A sandbox that does not fit has faults of its own.
    expect(faultsOf('export default () => null')).toEqual(faultsOf('export default () => Uint8Array'))
  })
})

describe('a rare name is known', () => {
  const check = openTypeCheck()
  const found = (body: string) => {
    const source = `export default ({ data }) => { ${body} }`
    const input = { source, variablesSchema: { type: 'object' }, families: new Map(), isWarned: true }
    return check(input).map(({ message }) => message.replace(/^template\.tsx:\d+:\d+: /, ''))
  }

  test.for([
    ...RARE_NAMES.map((name) => `return ${name}.name.lenght`),
    'return new Uint8Array(2).length.toFixde(1)',
    'return new \\u0055int8Array(2).length.toFixde(1)',
    'return new globalThis.Uint8Array(2).length.toFixde(1)',
    "return new globalThis[`Uint8${'Array'}` as const](2).length.toFixde(1)",
    'return Reflect.ownKeys({ a: 1 }).lenght',
    'const bytes: Uint8Array = data.bytes; return bytes.length.toFixde(1)',
  ])('in %s', (body) => {
    expect(found(`/* globalThis */ ${body}`)).toEqual(found(body))
  })

  test('with all that it has', () => {
    expect(found('return new Uint8Array(2).length.toFixde(1)')).toEqual([
      'new Uint8Array(2).length.toFixde: a number has no toFixde (did you mean toFixed?)',
    ])
  })
})
