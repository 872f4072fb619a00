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
