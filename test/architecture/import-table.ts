/**
 * Who may import whom, as data, and the verdict on one arrow. The arrows all point one way: from the composition roots
 * through the services to the contract. See docs/architecture.md for the picture.
 */
import { type Arrow, targetOf } from './source-tree.ts'

export interface Row {
  /** A folder, or one file of it; the first row that fits decides. */
  readonly from: string
  /** Folders and files beyond its own. */
  readonly mayImport: readonly string[]
  /** Packages it may use of those its package.json declares; absent = all of them. */
  readonly packages?: readonly string[]
  /** Node's own modules it may use; absent = all of them. What does no I/O has no need of more than these. */
  readonly builtins?: readonly string[]
}

const CONTRACT = 'contract/src'
const ADAPTERS = 'adapters/src'
const PROCESS = 'process/src'
const SETTINGS = ['settings/src/compile', 'settings/src/publish']
/** Pure computation; everything else in Node touches the world. */
const PURE = ['node:assert/strict', 'node:buffer', 'node:crypto', 'node:util']

export const IMPORT_TABLE: readonly Row[] = [
  { from: 'contract/src', mayImport: [], builtins: PURE },

  // One folder per dependency, and none knows another.
  { from: 'adapters/src/memory', mayImport: [CONTRACT], packages: [], builtins: PURE },
  { from: 'adapters/src/system', mayImport: [CONTRACT], packages: ['pino'] },
  { from: 'adapters/src/fs', mayImport: [CONTRACT], packages: [] },
  { from: 'adapters/src/sqlite', mayImport: [CONTRACT], packages: [] },
  { from: 'adapters/src/http', mayImport: [CONTRACT], packages: ['undici'] },
  { from: 'adapters/src/redis', mayImport: [CONTRACT], packages: ['ioredis'] },
  { from: 'adapters/src/kafka', mayImport: [CONTRACT], packages: ['kafkajs'] },
  { from: 'adapters/src/prometheus', mayImport: [CONTRACT], packages: ['prom-client'] },
  {
    from: 'adapters/src/s3',
    mayImport: [CONTRACT],
    packages: ['@aws-sdk/client-s3', '@aws-sdk/s3-request-presigner'],
  },

  // What stands in for an adapter while it is away; it knows the port alone.
  { from: 'adapters/src/fallback', mayImport: [CONTRACT], packages: [], builtins: PURE },

  // What the environment says, in the words of the folders that are opened with it: it knows their settings and opens nothing.
  {
    from: 'adapters/src/setting',
    mayImport: [
      CONTRACT,
      'adapters/src/redis/connect.ts',
      'adapters/src/s3/connect.ts',
      'adapters/src/s3/namespace.ts',
    ],
    packages: [],
  },

  // Opens what the processes of a cluster stand on.
  { from: 'process/src', mayImport: [CONTRACT, ADAPTERS], packages: [] },

  // Resources in, settings and conditions out; from a folder of manifests as well.
  { from: 'settings/src/compile', mayImport: [CONTRACT], builtins: PURE },
  { from: 'settings/src/publish', mayImport: [CONTRACT], builtins: PURE },
  { from: 'settings/src', mayImport: [CONTRACT, 'adapters/src/fs'] },

  {
    from: 'operator/src/main.ts',
    mayImport: [CONTRACT, ADAPTERS, PROCESS, 'settings/src/publish', 'renderer/src/engine/thread-pool.ts'],
  },
  { from: 'operator/src/config.ts', mayImport: [CONTRACT, 'adapters/src/setting'] },
  { from: 'operator/src/leader/recovery.ts', mayImport: [CONTRACT, 'settings/src/compile'], builtins: PURE },
  { from: 'operator/src/reconcile/status.ts', mayImport: [CONTRACT, 'settings/src/compile'], builtins: PURE },
  { from: 'operator/src/compilation', mayImport: [CONTRACT, 'settings/src/compile'], builtins: PURE },
  { from: 'operator/src', mayImport: [CONTRACT, ...SETTINGS] },

  { from: 'api/src/main.ts', mayImport: [CONTRACT, ADAPTERS, PROCESS] },
  { from: 'api/src/config.ts', mayImport: [CONTRACT, 'adapters/src/setting'] },
  { from: 'api/src', mayImport: [CONTRACT] },

  { from: 'renderer/src/main.ts', mayImport: [CONTRACT, ADAPTERS, PROCESS] },
  { from: 'renderer/src/config.ts', mayImport: [CONTRACT, 'adapters/src/setting'] },
  { from: 'renderer/src/worker/classify-error.ts', mayImport: [CONTRACT], builtins: PURE },
  { from: 'renderer/src', mayImport: [CONTRACT] },

  { from: 'events/src/main.ts', mayImport: [CONTRACT, ADAPTERS, PROCESS] },
  { from: 'events/src/config.ts', mayImport: [CONTRACT, 'adapters/src/setting'] },
  { from: 'events/src/webhook/sign.ts', mayImport: [CONTRACT], builtins: PURE },
  { from: 'events/src/webhook/retry-delay.ts', mayImport: [CONTRACT], builtins: PURE },
  { from: 'events/src', mayImport: [CONTRACT], builtins: PURE },

  // Composes the others, through the doors they offer.
  {
    from: 'embedded/src',
    mayImport: [
      CONTRACT,
      ADAPTERS,
      'api/src/app.ts',
      'api/src/body/check',
      'settings/src',
      'renderer/src/service.ts',
      'renderer/src/engine',
      'renderer/src/template',
      'events/src/service.ts',
      'events/src/retention',
    ],
  },

  // Does what the service does with a folder of manifests, by the same code, and starts no service.
  {
    from: 'cli/src',
    mayImport: [
      CONTRACT,
      ADAPTERS,
      'settings/src',
      'renderer/src/port',
      'renderer/src/engine',
      'renderer/src/template',
    ],
  },

  // Runs where there is no Node, and knows of us what the wire says.
  { from: 'client/src', mayImport: [], packages: [], builtins: [] },

  {
    from: 'test',
    mayImport: [
      CONTRACT,
      ADAPTERS,
      PROCESS,
      'settings',
      'operator',
      'api',
      'renderer',
      'events',
      'embedded',
      'cli',
      'client',
    ],
  },
]

/** What unit tests beside their module may use besides what the module may. */
const UNIT_TESTS = { mayImport: ['adapters/src/memory', 'test/fixture'], packages: ['vitest', 'fast-check'] }

/** What stands in the package.json of the arrow's own package. */
export interface Declared {
  readonly dependencies: readonly string[]
}

/** The rule an arrow breaks, as a sentence about it; undefined when it may stand. */
export function judge(arrow: Arrow, declared: Declared): string | undefined {
  const row = IMPORT_TABLE.find(({ from }) => contains(from, arrow.from))
  if (row === undefined) return `${arrow.from} is in no row of the import table`
  const fault = judgeTarget(arrow, row) ?? judgePackage(arrow, row, declared)
  return fault === undefined ? undefined : `${arrow.from} imports ${arrow.specifier}: ${fault}`
}

function judgeTarget(arrow: Arrow, row: Row): string | undefined {
  const target = targetOf(arrow)
  if (target === undefined) return undefined
  if (!target.endsWith('.ts')) return 'an import names the file, with .ts'
  if (contains(homeOf(arrow.from), target)) {
    return arrow.specifier.startsWith('.') ? undefined : 'a package imports its own files by relative path'
  }
  const mayImport = isUnitTest(arrow.from) ? [...row.mayImport, ...UNIT_TESTS.mayImport] : row.mayImport
  if (!mayImport.some((place) => contains(place, target))) return `the import table has no arrow to ${target}`
  // The test folder is no package to others, and the client is one only once it is compiled: their files have no other name.
  const isNamed =
    packageOf(arrow.from) !== packageOf(target) && !contains('test/fixture', target) && !contains('client/src', target)
  if (arrow.specifier.startsWith('.') && isNamed) return 'other packages are named @platen/…'
  return undefined
}

function judgePackage({ from, specifier }: Arrow, row: Row, declared: Declared): string | undefined {
  if (specifier.startsWith('.')) return undefined
  if (isUnitTest(from) && (specifier.startsWith('node:') || specifier.startsWith('@platen/adapters/'))) return undefined
  if (specifier.startsWith('node:')) {
    return row.builtins?.includes(specifier) === false
      ? 'it does no I/O, so it needs only the pure builtins'
      : undefined
  }
  const name = specifier.split('/', specifier.startsWith('@') ? 2 : 1).join('/')
  if (isUnitTest(from) && UNIT_TESTS.packages.includes(name)) return undefined
  if (!declared.dependencies.includes(name)) return `its package.json does not declare ${name}`
  if (row.packages !== undefined && !name.startsWith('@platen/') && !row.packages.includes(name)) {
    return `this folder is not the one for ${name}`
  }
  return undefined
}

function packageOf(file: string): string | undefined {
  return file.split('/')[0]
}

/** The folder a module belongs to: its package, or one adapter. */
function homeOf(file: string): string {
  const [packageName, src, adapter] = file.split('/')
  return packageName === 'adapters' ? `${packageName}/${src}/${adapter}` : `${packageName}`
}

function isUnitTest(file: string): boolean {
  return file.endsWith('.test.ts') && !contains('test', file)
}

function contains(place: string, file: string): boolean {
  return file === place || file.startsWith(`${place}/`)
}
