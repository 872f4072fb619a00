/** What is used of the inside of kafkajs, which comes without types. */
declare module 'kafkajs/src/network/requestQueue/index.js' {
  /** The requests of one connection that wait to be sent. */
  export default class RequestQueue {
    readonly pending: readonly unknown[]
    /** Looks at them again after a while. */
    scheduleCheckPendingRequests(): void
  }
}
