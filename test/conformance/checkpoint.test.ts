import { redisCheckpoints } from '@platen/adapters/redis/checkpoint.ts'
import { poll } from '../time/poll.ts'
import { describeCheckpoints } from './checkpoint.suite.ts'
import { describeOnRedis } from './redis-harness.ts'

describeOnRedis('on a real server', (redis) => {
  describeCheckpoints('redis', async () => {
    const connection = await redis.emptied()
    return {
      open: async () => redisCheckpoints(connection),
      wipe: async () => void (await connection.call((client) => client.flushall(), AbortSignal.timeout(5000))),
      async restart() {
        await redis.server().stop()
        await redis.server().start()
        // The client finds it by itself; a call before that is refused.
        const ping = () => connection.call((client) => client.ping(), AbortSignal.timeout(5000)).catch(String)
        await poll(ping).until((answer) => answer === 'PONG')
      },
      [Symbol.asyncDispose]: () => connection[Symbol.asyncDispose](),
    }
  })
})
