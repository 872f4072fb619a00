/** Bounds of preparing resources. */

/** How often a Tenant looks whether the account that it declares is free by now. */
export const ACCOUNT_RETRY_MS = 10_000
