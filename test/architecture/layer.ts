/**
 * The layers of each package, from top to bottom. An entry may import the rows below its own, and nothing in its row or above. A name that
 * ends with a slash is a folder below src/; the others are modules. The adapters have no layers: each of their folders imports
 * only the contract. A separate test finds cycles.
 */
export const LAYERS: Readonly<Record<string, readonly (readonly string[])[]>> = {
  contract: [['port/'], ['stored/'], ['schema/'], ['domain/']],
  api: [
    ['main.ts'],
    ['app.ts', 'config.ts'],
    ['route/'],
    ['admission/'],
    ['ports.ts', 'openapi.ts'],
    ['body/'],
    ['traffic/'],
    ['problem.ts'],
    ['limit.ts'],
  ],
  renderer: [
    ['main.ts'],
    ['service.ts', 'config.ts'],
    ['worker.ts', 'engine/'],
    ['worker/', 'browser/'],
    ['template/', 'pdf/'],
    ['port/'],
    ['limit.ts'],
  ],
  events: [
    ['main.ts'],
    ['service.ts', 'config.ts'],
    ['webhook/', 'batch/', 'charge/', 'list/', 'retention/'],
    ['replay.ts'],
  ],
  operator: [['main.ts'], ['leader/', 'config.ts'], ['handler/'], ['reconcile/', 'secret/'], ['queue/', 'cluster/']],
  settings: [['manifest/'], ['publish/', 'secrets.ts'], ['compilation/'], ['compile/']],
  process: [['data-plane.ts'], ['process.ts'], ['dependency.ts']],
  embedded: [
    ['main.ts', 'first-run.ts'],
    ['service.ts'],
    ['compose.ts'],
    ['artifact-route.ts', 'config.ts', 'meter/', 'store/'],
    ['data-dir.ts'],
  ],
  cli: [
    ['main.ts'],
    ['command.ts'],
    ['publish.ts', 'watch.ts'],
    ['check.ts', 'preview.ts'],
    ['folder.ts', 'publish/', 'preview/'],
    ['template.ts'],
    ['renderer.ts'],
    ['diagnostic/'],
  ],
}

/** Returns the entry of a package that contains a file: `worker/` or `worker.ts`. */
export function entryOf(file: string): string {
  const [first = '', ...rest] = file.split('/').slice(2)
  return rest.length > 0 ? `${first}/` : first
}

/** Returns how far an entry is below the top of its package. Undefined when it is in no layer. */
export function layerOf(packageName: string, entry: string): number | undefined {
  const at = LAYERS[packageName]?.findIndex((row) => row.includes(entry))
  return at === undefined || at < 0 ? undefined : at
}
