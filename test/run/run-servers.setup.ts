/** Opens the shared servers for a run of `vitest` by itself; `make test` has opened them for all of its runs. */
import type { TestProject } from 'vitest/node'
import { openRunServers, RUN_SERVERS_VARIABLE } from './run-servers.ts'

declare module 'vitest' {
  export interface ProvidedContext {
    /** Where tests ask for the servers they share. */
    runServers: string
  }
}

/** Called before the first test of a project, and what it returns after the last one. Throws where a server has ended by itself. */
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
