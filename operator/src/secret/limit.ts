/** Wait before asking again whether the Secrets of a namespace are granted. No resource changes, so no event reports the grant. */
export const SECRETS_GRANT_RETRY_MS = 10_000

/** Secrets that the audit reads per second: less than a hundredth of a core, and all of 14,000 within the hour. */
export const SECRET_AUDIT_READS_PER_SECOND_MAX = 4
