/** Opens the shared servers when `vitest` runs alone. `make test` opens them once for all of its runs. */
import type { TestProject } from 'vitest/node'
import { openRunServers, RUN_SERVERS_VARIABLE } from './run-servers.ts'

declare module 'vitest' {
  export interface ProvidedContext {
    /** Address where tests ask for the shared servers. */
    runServers: string
  }
}

/** Runs before the first test of a project. The returned function runs after the last one, and throws when a server ended by itself. */
export async function setup(project: TestProject): Promise<(() => Promise<void>) | undefined> {
  const opened = process.env[RUN_SERVERS_VARIABLE]
  if (opened !== undefined) {
    project.provide('runServers', opened)
    return undefined
  }
  const servers = await openRunServers()
  project.provide('runServers', servers.url)
  return async () => {
    const losses = servers.losses()
    await servers[Symbol.asyncDispose]()
    if (losses.length > 0) throw new Error(losses.join('\n'))
  }
}
