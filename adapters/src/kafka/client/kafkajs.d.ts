/** The internals of kafkajs that we use; it has no types for them. */
declare module 'kafkajs/src/network/requestQueue/index.js' {
  /** The requests of one connection that wait to be sent. */
  export default class RequestQueue {
    readonly pending: readonly unknown[]
    /** Checks them again after a while. */
    scheduleCheckPendingRequests(): void
  }
}

declare module 'kafkajs/src/cluster/index.js' {
  /** The known brokers and their metadata. */
  export default class Cluster {
    /** Finds the coordinator of a group; any broker may answer. */
    findGroupCoordinatorMetadata(request: { readonly groupId: string }): Promise<unknown>
    /** Asks a broker for its metadata of some topics, or of all. */
    metadata(request?: { readonly topics?: readonly string[] }): Promise<object | null>
    /** Returns the first or the next offset of each partition, depending on the topic's configuration. */
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

  /** The committed and the next offsets of a member's partitions. */
  export default class OffsetManager {
    readonly cluster: Cluster
    readonly topicConfigurations: Readonly<Record<string, { readonly fromBeginning?: boolean }>>
    /** The next offsets by topic and partition. */
    readonly resolvedOffsets: Record<string, Readonly<Record<number, string>>>
    /** Called when the next offset is not in the log. */
    setDefaultOffset(place: Place): Promise<void>
  }
}

declare module 'kafkajs/src/consumer/consumerGroup.js' {
  /** A consumer as a member of its group. */
  export default class ConsumerGroup {
    /** When its last heartbeat was sent, in epoch milliseconds. */
    lastRequest: number
    /** How long the broker may hold the next fetch that finds nothing, in milliseconds. */
    maxWaitTime: number
    /** The assigned partitions that are not fetched, by topic. */
    paused(): readonly { readonly topic: string; readonly partitions: readonly number[] }[]
    pause(partitions: readonly { readonly topic: string; readonly partitions: readonly number[] }[]): void
    resume(partitions: readonly { readonly topic: string; readonly partitions: readonly number[] }[]): void
    /** Sends a heartbeat, unless one was sent within the interval. */
    heartbeat(options: { readonly interval: number }): Promise<void>
  }
}

declare module 'kafkajs/src/broker/saslAuthenticator/index.js' {
  import type { Socket } from 'node:net'

  /** The authentication of one connection to a broker. */
  export default class SaslAuthenticator {
    readonly connection: {
      readonly host: string
      readonly port: number
      readonly connectionStatus: 'connected' | 'disconnecting' | 'disconnected'
      readonly socket: Socket
      /** Waits for the answers that are due, and ends the socket. It can then be connected again. */
      disconnect(): Promise<unknown>
    }
    authenticate(): Promise<void>
  }
}

declare module 'kafkajs/src/broker/saslAuthenticator/*' {
  import type { AuthenticationProviderArgs, Authenticator } from 'kafkajs'

  interface Credentials {
    readonly username: string
    readonly password: string
    readonly oauthBearerProvider: () => Promise<{ readonly value: string }>
  }

  /** Authenticates by one mechanism, which reads what it needs of the credentials. */
  export default function mechanism(credentials: Credentials): (connection: AuthenticationProviderArgs) => Authenticator
}
