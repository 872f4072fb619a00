/**
 * The layers of each package, from the top down: what stands in one row knows the rows below it, and nothing beside or above it.
 * A name with a slash at its end is a folder below src/, the others are modules. The contract and the adapters have no layers, but
 * folders of which each knows only the contract; that nothing there goes round in a circle is held by the test of circles.
 */
export const LAYERS: Readonly<Record<string, readonly (readonly string[])[]>> = {
  api: [
    ['main.ts'],
    ['app.ts', 'config.ts'],
    ['route/'],
    ['admission/'],
    ['ports.ts', 'openapi.ts'],
    ['body/'],
    ['traffic/'],
    ['problem.ts'],
  ],
  renderer: [
    ['main.ts'],
    ['service.ts', 'config.ts'],
    ['worker.ts', 'engine/'],
    ['worker/', 'browser/'],
    ['template/', 'pdf/'],
    ['port/', 'lru-cache.ts'],
  ],
  events: [['main.ts'], ['service.ts', 'config.ts'], ['webhook/', 'charge/', 'retention/']],
  operator: [
    ['main.ts'],
    ['leader/', 'config.ts'],
    ['handler/'],
    ['reconcile/', 'secret/'],
    ['compilation/', 'queue/', 'cluster/'],
    ['limit.ts'],
  ],
  settings: [['manifest/'], ['publish/', 'secrets.ts'], ['compile/']],
  process: [['process.ts'], ['base.ts']],
  embedded: [
    ['main.ts', 'first-run.ts'],
    ['service.ts'],
    ['compose.ts'],
    ['artifact-route.ts', 'config.ts', 'manifests.ts', 'meter.ts', 'store/'],
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

/** The entry of a package that a file of it lies in: `worker/` or `worker.ts`. */
export function entryOf(file: string): string {
  const [first = '', ...rest] = file.split('/').slice(2)
  return rest.length > 0 ? `${first}/` : first
}

/** How far below the top an entry stands in its package; undefined where it is in no layer. */
export function layerOf(packageName: string, entry: string): number | undefined {
  const at = LAYERS[packageName]?.findIndex((row) => row.includes(entry))
  return at === undefined || at < 0 ? undefined : at
}
