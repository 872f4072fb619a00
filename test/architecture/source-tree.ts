/** Reads the repository for the architecture tests: its files, and the imports of each module. */
import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative, sep } from 'node:path'
import { parseAst } from 'vitest/node'

export const ROOT = join(import.meta.dirname, '../..')

/** Files made by tools or at run time. The tests skip them. */
const NOT_OURS = new Set(['.git', 'node_modules', 'dist', 'out', 'data', '__pycache__'])

/** Lists all files of the repository in alphabetical order, as paths from its root with forward slashes. */
export function listFiles(): readonly string[] {
  const walk = (folder: string): string[] =>
    readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
      // The target of a link is listed under its own path.
      if (NOT_OURS.has(entry.name) || entry.isSymbolicLink()) return []
      const path = join(folder, entry.name)
      return entry.isDirectory() ? walk(path) : [relative(ROOT, path).replaceAll(sep, '/')]
    })
  return walk(ROOT).sort()
}

export function readText(file: string): string {
  return readFileSync(join(ROOT, file), 'utf8')
}

export interface Arrow {
  readonly from: string
  /** The specifier as written: `./slots.ts`, `@platen/contract/domain/error.ts`, `fastify`, `node:fs`. */
  readonly specifier: string
  /**
   * `type` imports are erased before anything runs. `thread` is a module started by its address: `new URL('./thread.ts', import.meta.url)`.
   */
  readonly kind: 'import' | 'type' | 'thread'
}

/** Returns the imports of a module in source order. It reads the syntax tree, so an import inside a string does not count. */
export function arrowsOf(file: string, text = readText(file)): readonly Arrow[] {
  const arrows: Arrow[] = []
  const visit = (node: unknown): void => {
    if (Array.isArray(node)) return node.forEach(visit)
    if (!isRecord(node)) return
    const specifier = isRecord(node['source']) ? node['source']['value'] : undefined
    if (typeof specifier === 'string') arrows.push({ from: file, specifier, kind: isErased(node) ? 'type' : 'import' })
    const started = startedModule(node)
    if (started !== undefined) arrows.push({ from: file, specifier: started, kind: 'thread' })
    Object.values(node).forEach(visit)
  }
  visit(parseAst(text, { lang: 'ts' }).body)
  return arrows
}

function isErased(node: Readonly<Record<string, unknown>>): boolean {
  return node['importKind'] === 'type' || node['exportKind'] === 'type' || node['type'] === 'TSImportType'
}

function startedModule(node: Readonly<Record<string, unknown>>): string | undefined {
  if (node['type'] !== 'NewExpression' || !isRecord(node['callee']) || node['callee']['name'] !== 'URL')
    return undefined
  const [first]: unknown[] = Array.isArray(node['arguments']) ? node['arguments'] : []
  const path = isRecord(first) ? first['value'] : undefined
  return typeof path === 'string' && path.startsWith('.') && path.endsWith('.ts') ? path : undefined
}

/** Returns the imported file as a path from the root. Undefined when it is outside the repository. */
export function targetOf({ from, specifier }: Arrow): string | undefined {
  if (specifier.startsWith('.')) return relative(ROOT, join(ROOT, dirname(from), specifier)).replaceAll(sep, '/')
  const [scope, workspace, ...path] = specifier.split('/')
  return scope === '@platen' ? `${workspace}/src/${path.join('/')}` : undefined
}

/** Returns for each folder the graph of imports between its entries, which are modules and subfolders. The key is the folder's path. */
export function entryGraphs(
  arrows: readonly { readonly from: string; readonly to: string }[],
): ReadonlyMap<string, ReadonlyMap<string, readonly string[]>> {
  const graphs = new Map<string, Map<string, string[]>>()
  for (const { from, to } of arrows) {
    const [source, target] = [from.split('/'), to.split('/')]
    const depth = source.findIndex((name, at) => name !== target[at])
    if (depth < 0) continue
    const folder = source.slice(0, depth).join('/')
    const graph = graphs.get(folder) ?? new Map<string, string[]>()
    graphs.set(folder, graph)
    const [entry, known] = [source, target].map((path) => path.slice(0, depth + 1).join('/')) as [string, string]
    graph.set(entry, [...(graph.get(entry) ?? []), known])
  }
  return graphs
}

/** Returns the first cycle of a graph, as a path that leads back to its start. Undefined when there is none. */
export function findCycle(graph: ReadonlyMap<string, readonly string[]>): readonly string[] | undefined {
  const done = new Set<string>()
  const follow = (module: string, path: readonly string[]): readonly string[] | undefined => {
    const start = path.indexOf(module)
    if (start >= 0) return [...path.slice(start), module]
    if (done.has(module)) return undefined
    for (const next of graph.get(module) ?? []) {
      const cycle = follow(next, [...path, module])
      if (cycle !== undefined) return cycle
    }
    done.add(module)
    return undefined
  }
  for (const module of graph.keys()) {
    const cycle = follow(module, [])
    if (cycle !== undefined) return cycle
  }
  return undefined
}

export function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
