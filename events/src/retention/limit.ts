const MINUTE_MS = 60 * 1000

/** How often erasure orders are looked for in a cluster: it takes two list calls, and a caller waits for its order. */
export const ERASURES_LOOKED_FOR_EVERY_MS = MINUTE_MS

/**
 * Renders in one object of the expiry index: about fifty kilobytes, at a small part of the cost of one object each. As many events are read
 * before they are committed. Kafka delivers a thousand of a partition, and more while these are written.
 */
export const EXPIRY_RENDERS_MAX = 500

/**
 * Renders of the expiry index that are removed at once. Each takes about six requests of a store that answers in 25 ms, so four million a
 * day can be removed.
 */
export const RENDERS_REMOVED_AT_ONCE = 8

/** Renders that an erasure handles together. Their tombstones share one object of the expiry index. */
export const ERASED_TOGETHER_MAX = EXPIRY_RENDERS_MAX
