const SECOND_MS = 1000

/** How long a client may read nothing of an answer in progress. This process holds the unread bytes. */
export const ANSWER_STALLED_MS_MAX = 20 * SECOND_MS

/** How long a client may take to send its request. Stops slow-loris senders; 10 MiB in 30 s is a 2.8 Mbit/s line. */
export const REQUEST_RECEIVE_MS_MAX = 30 * SECOND_MS

/** How long a request waits for one answer of the queue or a store before it gets 503. Callers and load balancers wait longer. */
export const PORT_CALL_MS_MAX = 5 * SECOND_MS

/** `Retry-After` of a 503, in seconds. */
export const UNAVAILABLE_RETRY_AFTER_S = 2
