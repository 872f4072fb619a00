/** What is used of the inside of kafkajs, which comes without types. */
declare module 'kafkajs/src/network/requestQueue/index.js' {
  /** The requests of one connection that wait to be sent. */
  export default class RequestQueue {
    readonly pending: readonly unknown[]
    /** Looks at them again after a while. */
    scheduleCheckPendingRequests(): void
  }
}

declare module 'kafkajs/src/cluster/index.js' {
  /** The brokers that are known, and what they know of each other. */
  export default class Cluster {
    /** Who coordinates a group, by any of the brokers. */
    findGroupCoordinatorMetadata(request: { readonly groupId: string }): Promise<unknown>
    /** The first offset of each partition there is, or the next one, by the configuration of the topic. */
    fetchTopicsOffset(
      topics: readonly { readonly topic: string; readonly partitions: readonly { readonly partition: number }[] }[],
    ): Promise<readonly { readonly partitions: readonly { readonly offset: string }[] }[]>
  }
}

declare module 'kafkajs/src/consumer/offsetManager/index.js' {
  import type Cluster from 'kafkajs/src/cluster/index.js'

  interface Place {
    readonly topic: string
    readonly partition: number
  }

  /** What a member has committed of its partitions, and where it goes on. */
  export default class OffsetManager {
    readonly cluster: Cluster
    readonly topicConfigurations: Readonly<Record<string, { readonly fromBeginning?: boolean }>>
    /** Commits these, and no others. */
    commitOffsets(offsets: {
      readonly topics: readonly {
        readonly topic: string
        readonly partitions: readonly { readonly partition: number; readonly offset: string }[]
      }[]
    }): Promise<void>
    /** Called where what is committed is no offset of the log. */
    setDefaultOffset(place: Place): Promise<void>
    /** Forgets where it is, and looks it up again. */
    clearOffsets(place: Place): void
  }
}

declare module 'kafkajs/src/consumer/consumerGroup.js' {
  /** A consumer as a member of its group. */
  export default class ConsumerGroup {
    /** When it was heard of last, in epoch milliseconds. */
    lastRequest: number
    /** Makes the member heard of, unless it was within the interval. */
    heartbeat(options: { readonly interval: number }): Promise<void>
  }
}
