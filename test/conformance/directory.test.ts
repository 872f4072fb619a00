import { memoryDirectory } from '@platen/adapters/memory/directory.ts'
import { describeDirectory } from './directory.suite.ts'
import { publishedDirectory } from './directory-harness.ts'
import { memoryHarness } from './harness.ts'
import { describeOnRedis } from './redis-harness.ts'

describeDirectory('memory', () => memoryHarness(memoryDirectory))

/** For @platen/adapters/redis/directory.ts */
describeOnRedis('redis', (redis) => {
  describeDirectory('redis', async () => {
    await using stack = new AsyncDisposableStack()
    const port = stack.use(await publishedDirectory(stack.use(await redis.emptied())))
    const owned = stack.move()
    return { open: async () => port, [Symbol.asyncDispose]: () => owned.disposeAsync() }
  })
})
