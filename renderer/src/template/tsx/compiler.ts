/**
 * TypeScript's compiler over a few files in memory. It resolves no module and opens no file of the machine, whatever a template refers to:
 * it knows the declarations that it is given, and of TypeScript's own libraries those of the language. So it is no way to read a file.
 *
 * A template's types are code that the compiler runs, and may keep it busy for long. It belongs in a thread that can be terminated.
 */
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import type TS from 'typescript'
import { isLibraryFile, mayNameRare, SANDBOX_DECLARATIONS, withoutRare } from './declaration.ts'
import { TEMPLATE_FILE } from './transpile.ts'

const require = createRequire(import.meta.url)

/**
 * The compiler itself. `import` would compile its nine megabytes once more in each thread, to find out that they are CommonJS: that takes
 * nearly as long as loading them from the compile cache.
 */
export const ts: typeof TS = require('typescript')

/** A template that was parsed, and what resolves its types. */
export interface CompiledTemplate {
  readonly file: TS.SourceFile
  readonly program: TS.Program
  readonly checker: TS.TypeChecker
}

export interface CompilerInput {
  readonly template: string
  /** Declarations of the template's data. */
  readonly data: string
  /** Whether `undefined` and `null` are types of their own. */
  readonly isNullStrict: boolean
}

/** Nothing is computed before the checker is asked. */
type Compile = (input: CompilerInput) => CompiledTemplate

/** The names of the files. None is on a disk. */
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

/** Opens a compiler. It keeps what all templates share: parsing the library of the language takes as long as checking ten templates. */
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

/** TypeScript's library of the language, with what `edit` leaves of its files. Each is parsed once. */
function openLibrary(edit: (text: string) => string): (name: string) => TS.SourceFile | undefined {
  const directory = dirname(require.resolve('typescript'))
  const parsed = new Map<string, TS.SourceFile>()
  return (name) => {
    const own = name.startsWith(LIBRARY) ? name.slice(LIBRARY.length) : ''
    if (!isLibraryFile(own)) return undefined
    // The compiler itself sets the parents when it binds the file.
    const file = parsed.get(name) ?? parse(name, edit(readFileSync(join(directory, own), 'utf8')), false)
    parsed.set(name, file)
    return file
  }
}

/** Parses one file, with the parents of its nodes. */
function parse(name: string, text: string, hasParents = true): TS.SourceFile {
  const options: TS.CreateSourceFileOptions = {
    languageVersion: ts.ScriptTarget.ES2023,
    impliedNodeFormat: ts.ModuleKind.ESNext,
    // Nobody asks for it, and it is a third of what parsing the library of the language takes.
    jsDocParsingMode: ts.JSDocParsingMode.ParseNone,
  }
  return ts.createSourceFile(name, text, options, hasParents)
}

/** Parses a template alone. */
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
    // What is imported must be declared. Nothing is looked for.
    resolveModuleNameLiterals: (names) => names.map(() => ({ resolvedModule: undefined })),
    resolveTypeReferenceDirectiveReferences: (names) =>
      names.map(() => ({ resolvedTypeReferenceDirective: undefined })),
    writeFile: () => undefined,
  }
}
