/** Limits of the list of renders, each with its unit and the reason for its value. */

/** Events compared with the list at a time. Those that it lacks cost a GET of the artifact store, which serves some hundreds at once. */
export const LISTED_AT_ONCE = 64
