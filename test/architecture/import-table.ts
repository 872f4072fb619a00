/**
 * The table of allowed imports, and the check of one import. All imports point one way: from the composition roots through the services to
 * the contract. docs/architecture.md has the picture.
 */
import { type Arrow, targetOf } from './source-tree.ts'

export interface Row {
  /** A folder, or one file in it. The first row that matches decides. */
  readonly from: string
  /** Folders and files it may import besides its own. */
  readonly mayImport: readonly string[]
  /** Packages it may use, of those in its package.json. Absent = all of them. */
  readonly packages?: readonly string[]
  /** Node modules it may use. Absent = all of them. Code without I/O needs no more than these. */
  readonly builtins?: readonly string[]
}

const LIB = 'lib/src'
/** What all packages stand on, the client aside. */
const GROUND = [LIB, 'contract/src']
const ADAPTERS = 'adapters/src'
const PROCESS = 'process/src'
const VERSION = 'adapters/src/version.ts'
const SETTINGS = ['settings/src/compile', 'settings/src/compilation', 'settings/src/publish']
/** Modules for pure computation. All other Node modules do I/O. */
const PURE = ['node:assert/strict', 'node:buffer', 'node:crypto', 'node:util']

export const IMPORT_TABLE: readonly Row[] = [
  // `BlockList` and `isIP` compute.
  { from: 'lib/src/address.ts', mayImport: [], builtins: [...PURE, 'node:net'] },
  // Asks where the compile cache is, and reads nothing of it.
  { from: 'lib/src/thread-env.ts', mayImport: [], builtins: ['node:module', 'node:path'] },
  { from: LIB, mayImport: [], builtins: PURE },

  { from: 'contract/src', mayImport: [LIB], builtins: PURE },

  // Each folder has one dependency, and no folder imports another.
  { from: 'adapters/src/memory', mayImport: GROUND, packages: [], builtins: PURE },
  { from: 'adapters/src/system', mayImport: [...GROUND, VERSION], packages: ['pino'] },
  { from: 'adapters/src/fs', mayImport: GROUND, packages: [] },
  { from: 'adapters/src/sqlite', mayImport: GROUND, packages: [] },
  { from: 'adapters/src/http', mayImport: GROUND, packages: ['undici'] },
  { from: 'adapters/src/redis', mayImport: GROUND, packages: ['ioredis'] },
  { from: 'adapters/src/kafka', mayImport: GROUND, packages: ['kafkajs'] },
  { from: 'adapters/src/prometheus', mayImport: [...GROUND, VERSION], packages: ['prom-client'] },
  {
    from: 'adapters/src/otel',
    mayImport: GROUND,
    packages: [
      '@opentelemetry/api',
      '@opentelemetry/core',
      '@opentelemetry/exporter-trace-otlp-http',
      '@opentelemetry/exporter-trace-otlp-proto',
      '@opentelemetry/resources',
      '@opentelemetry/sdk-trace-base',
    ],
  },
  {
    from: 'adapters/src/s3',
    mayImport: GROUND,
    packages: ['@aws-sdk/client-s3', '@aws-sdk/s3-request-presigner'],
  },

  // Read by the log and by the metrics.
  { from: VERSION, mayImport: [], packages: [] },

  // Opens the artifact store that an installation has.
  { from: 'adapters/src/open-artifact-store.ts', mayImport: [...GROUND, 'adapters/src/s3'], packages: [] },

  // Fallbacks for adapters that cannot be reached. They know the port alone.
  { from: 'adapters/src/fallback', mayImport: GROUND, packages: [], builtins: PURE },

  // Reads the environment with the settings types of the adapters. It opens nothing.
  {
    from: 'adapters/src/setting',
    mayImport: [
      ...GROUND,
      'adapters/src/redis/connect.ts',
      'adapters/src/s3/namespace.ts',
      'adapters/src/system/cgroup.ts',
    ],
    packages: [],
  },

  // Opens what all processes of a cluster need.
  { from: 'process/src', mayImport: [...GROUND, ADAPTERS], packages: [] },

  // Compiles resources to settings and conditions; also from a folder of manifests.
  { from: 'settings/src/compile', mayImport: GROUND, builtins: PURE },
  { from: 'settings/src/compilation', mayImport: GROUND, builtins: PURE },
  { from: 'settings/src/publish', mayImport: GROUND, builtins: PURE },
  { from: 'settings/src', mayImport: [...GROUND, 'adapters/src/fs'] },

  {
    from: 'operator/src/main.ts',
    mayImport: [...GROUND, ADAPTERS, PROCESS, 'settings/src/publish', 'renderer/src/engine/template-checker.ts'],
  },
  { from: 'operator/src/config.ts', mayImport: [...GROUND, 'adapters/src/setting'] },
  { from: 'operator/src/leader/recovery.ts', mayImport: [...GROUND, ...SETTINGS], builtins: PURE },
  { from: 'operator/src/reconcile/status.ts', mayImport: [...GROUND, ...SETTINGS], builtins: PURE },
  { from: 'operator/src', mayImport: [...GROUND, ...SETTINGS] },

  { from: 'api/src/main.ts', mayImport: [...GROUND, ADAPTERS, PROCESS] },
  { from: 'api/src/config.ts', mayImport: [...GROUND, 'adapters/src/setting'] },
  { from: 'api/src', mayImport: GROUND },

  { from: 'renderer/src/main.ts', mayImport: [...GROUND, ADAPTERS, PROCESS] },
  { from: 'renderer/src/config.ts', mayImport: [...GROUND, 'adapters/src/setting'] },
  { from: 'renderer/src/worker/classify-error.ts', mayImport: GROUND, builtins: PURE },
  { from: 'renderer/src', mayImport: GROUND },

  { from: 'events/src/main.ts', mayImport: [...GROUND, ADAPTERS, PROCESS] },
  { from: 'events/src/config.ts', mayImport: [...GROUND, 'adapters/src/setting'] },
  { from: 'events/src/webhook/sign.ts', mayImport: GROUND, builtins: PURE },
  { from: 'events/src/webhook/retry-delay.ts', mayImport: GROUND, builtins: PURE },
  { from: 'events/src', mayImport: GROUND, builtins: PURE },

  // Composes the other deployables, through the modules they offer for it.
  {
    from: 'embedded/src',
    mayImport: [
      ...GROUND,
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

  // Handles a folder of manifests with the same code as the service, and starts no service.
  {
    from: 'cli/src',
    mayImport: [
      ...GROUND,
      ADAPTERS,
      'settings/src',
      'renderer/src/port',
      'renderer/src/engine',
      'renderer/src/template',
      'events/src/retention',
    ],
  },

  // Also runs without Node, but for one entry. It shares only the wire format with the service.
  {
    from: 'client/src/node.ts',
    mayImport: [],
    packages: [],
    builtins: ['node:crypto', 'node:fs/promises', 'node:path'],
  },
  { from: 'client/src', mayImport: [], packages: [], builtins: [] },

  {
    from: 'test',
    mayImport: [
      ...GROUND,
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

/** What unit tests may use besides the imports of their module. */
const UNIT_TESTS = { mayImport: ['adapters/src/memory', 'test/fixture'], packages: ['vitest', 'fast-check'] }

/** The dependencies in the package.json of the importing package. */
export interface Declared {
  readonly dependencies: readonly string[]
}

/** Returns the rule that an import breaks, as a sentence. Undefined when the import is allowed. */
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
  // Other packages cannot import the test folder by name, and the client only after it is compiled. So their files have no package name.
  const isNamed =
    packageOf(arrow.from) !== packageOf(target) && !contains('test/fixture', target) && !contains('client/src', target)
  if (arrow.specifier.startsWith('.') && isNamed) return 'other packages are named @platen/…'
  return undefined
}

/** Node evaluates all exports of a builtin that is imported. For these it loads undici: 35 ms of CPU at each start. */
const LOADS_UNDICI = 'a process would load undici for it: process.getBuiltinModule gives the same without'

function judgePackage({ from, specifier, kind }: Arrow, row: Row, declared: Declared): string | undefined {
  if (specifier.startsWith('.')) return undefined
  if (specifier === 'node:http' && kind === 'import' && !contains('test', from)) return LOADS_UNDICI
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

/** Returns the folder of a module: its package, or one adapter. */
export function homeOf(file: string): string {
  const [packageName, src, adapter] = file.split('/')
  return packageName === 'adapters' ? `${packageName}/${src}/${adapter}` : `${packageName}`
}

function isUnitTest(file: string): boolean {
  return file.endsWith('.test.ts') && !contains('test', file)
}

function contains(place: string, file: string): boolean {
  return file === place || file.startsWith(`${place}/`)
}
