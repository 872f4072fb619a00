/**
 * TypeScript's compiler over a few files in memory. Whatever a template refers to, it resolves no module and opens no file of the machine:
 * it knows only the given declarations, and TypeScript's library of the language.
 *
 * A template's types are code that the compiler runs, perhaps for long. So it belongs in a thread that can be terminated.
 */
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import type TS from 'typescript'
import { isLibraryFile, mayNameRare, SANDBOX_DECLARATIONS, withoutRare } from './declaration.ts'
import { TEMPLATE_FILE } from './transpile.ts'

const require = createRequire(import.meta.url)

/**
 * Not imported: `import` would compile nine megabytes once more in each thread to find out that they are CommonJS, which takes nearly as
 * long as loading them from the compile cache.
 */
export const ts: typeof TS = require('typescript')

export interface CompiledTemplate {
  readonly file: TS.SourceFile
  readonly program: TS.Program
  readonly checker: TS.TypeChecker
}

export interface CompilerInput {
  readonly template: string
  readonly data: string
  /** `undefined` and `null` are types of their own. */
  readonly isNullStrict: boolean
}

/** Nothing is computed before the checker is used. */
type Compile = (input: CompilerInput) => CompiledTemplate

/** None of these files is on a disk. */
const TEMPLATE = `/${TEMPLATE_FILE}`
export const DATA = '/data.d.ts'
export const SANDBOX = '/sandbox.d.ts'
const LIBRARY = '/library/'

const LANGUAGE = 'lib.es2023.d.ts'

const OPTIONS: TS.CompilerOptions = {
  target: ts.ScriptTarget.ES2023,
  module: ts.ModuleKind.ESNext,
  moduleResolution: ts.ModuleResolutionKind.Bundler,
  moduleDetection: ts.ModuleDetectionKind.Force,
  jsx: ts.JsxEmit.Preserve,
  lib: [LANGUAGE],
  types: [],
  strict: false,
  noEmit: true,
  skipLibCheck: true,
  allowUmdGlobalAccess: true,
}

/** Caches what all templates share: parsing the library of the language takes as long as checking ten templates. */
export function openCompiler(): Compile {
  const sandbox = parse(SANDBOX, SANDBOX_DECLARATIONS)
  const common = openLibrary(withoutRare)
  const whole = openLibrary((text) => text)
  return ({ template, data, isNullStrict }) => {
    const own = new Map([
      [TEMPLATE, parse(TEMPLATE, template)],
      [DATA, parse(DATA, data)],
      [SANDBOX, sandbox],
    ])
    const library = mayNameRare(template) ? whole : common
    const program = ts.createProgram({
      rootNames: [TEMPLATE, DATA, SANDBOX],
      options: { ...OPTIONS, strictNullChecks: isNullStrict },
      host: hostOf((name) => own.get(name) ?? library(name)),
    })
    const file = program.getSourceFile(TEMPLATE)
    if (file === undefined) throw new Error('the compiler lost the template')
    return { file, program, checker: program.getTypeChecker() }
  }
}

/** TypeScript's library of the language, with `edit` applied to its files. Each is parsed once. */
function openLibrary(edit: (text: string) => string): (name: string) => TS.SourceFile | undefined {
  const directory = dirname(require.resolve('typescript'))
  const parsed = new Map<string, TS.SourceFile>()
  return (name) => {
    const own = name.startsWith(LIBRARY) ? name.slice(LIBRARY.length) : ''
    if (!isLibraryFile(own)) return undefined
    // The compiler sets the parents when it binds the file.
    const file = parsed.get(name) ?? parse(name, edit(readFileSync(join(directory, own), 'utf8')), false)
    parsed.set(name, file)
    return file
  }
}

function parse(name: string, text: string, hasParents = true): TS.SourceFile {
  const options: TS.CreateSourceFileOptions = {
    languageVersion: ts.ScriptTarget.ES2023,
    impliedNodeFormat: ts.ModuleKind.ESNext,
    // Unused, and a third of the time for parsing the library of the language.
    jsDocParsingMode: ts.JSDocParsingMode.ParseNone,
  }
  return ts.createSourceFile(name, text, options, hasParents)
}

export function parseTemplate(source: string): TS.SourceFile {
  return parse(TEMPLATE, source)
}

function hostOf(find: (name: string) => TS.SourceFile | undefined): TS.CompilerHost {
  return {
    getSourceFile: find,
    getDefaultLibFileName: () => `${LIBRARY}${LANGUAGE}`,
    getDefaultLibLocation: () => LIBRARY.slice(0, -1),
    getCurrentDirectory: () => '/',
    getCanonicalFileName: (name) => name,
    useCaseSensitiveFileNames: () => true,
    getNewLine: () => '\n',
    fileExists: () => false,
    readFile: () => undefined,
    directoryExists: () => false,
    getDirectories: () => [],
    realpath: (path) => path,
    // Imports must be declared. Nothing is searched for.
    resolveModuleNameLiterals: (names) => names.map(() => ({ resolvedModule: undefined })),
    resolveTypeReferenceDirectiveReferences: (names) =>
      names.map(() => ({ resolvedTypeReferenceDirective: undefined })),
    writeFile: () => undefined,
  }
}
