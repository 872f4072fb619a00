/** Every ceiling of how the operator keeps keys and webhook secrets in a cluster's Secrets, with its unit and the reason for its value. */

/** Hours that the key from before a rotation lives on where its ApiKey does not say: a day, as webhook secrets have. */
export const KEY_OVERLAP_HOURS_DEFAULT = 24

/** Rotations that a Secret remembers to have served, so that none is served twice: more than anyone goes back in a manifest. */
export const SECRET_ROTATIONS_KEPT_MAX = 32

/** Times a Secret is looked at and written anew when somebody else was quicker: after them the resource waits for its next turn. */
export const SECRET_TRIES_MAX = 3

/** How soon it is looked again whether the Secrets of a namespace are granted: nobody tells, as nothing else of it changes. */
export const SECRETS_GRANT_RETRY_MS = 10_000

/** Secrets that the audit reads in a second: less than a hundredth of a core, and all of 14,000 within the hour. */
export const SECRET_AUDIT_READS_PER_SECOND_MAX = 4
