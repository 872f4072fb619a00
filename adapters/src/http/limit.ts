const SECOND_MS = 1000
const KIB = 1024
const MIB = 1024 * KIB

/** A fetch from an allowed host, from look-up to last byte. Image hosts answer in a fraction of it, and a render has 25 s. */
export const EGRESS_MS_MAX = 5 * SECOND_MS

/** One fetched file: as much as all assets of a template. */
export const EGRESS_BYTES_MAX = 10 * MIB

/** Redirects on the way to one file: from the bare name to www, and from there to its location. */
export const EGRESS_REDIRECTS_MAX = 3

/** How long one call of a webhook receiver may take in all, from the look-up of its name to its status line. */
export const WEBHOOK_ATTEMPT_MS_MAX = 10 * SECOND_MS

/** How long the body of a receiver's answer is read, and how much of it is kept: enough for an error message. */
export const WEBHOOK_EXCERPT_MS_MAX = SECOND_MS
export const WEBHOOK_EXCERPT_BYTES_MAX = 4 * KIB
