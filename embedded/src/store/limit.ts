/** Limits of the stores of the embedded service, each with its unit and the reason for its value. */
import { PDF_BYTES_MAX } from '@platen/contract/domain/limit.ts'

const SECOND_MS = 1000
const HOUR_MS = 3600 * SECOND_MS

/** Nothing new is accepted with less free disk space than this: that of the largest PDF, so that accepted renders can be stored. */
export const DISK_FREE_BYTES_MIN = PDF_BYTES_MAX

/** How long events and charges are kept: longer than a month of quota and any retry of a webhook. */
export const EVENTS_KEPT_MS = 40 * 24 * HOUR_MS

/**
 * How long before the last sign of life a render may have been accepted whose outcome was not published because of a kill: the longest
 * deadline with its waits, and as long again for stores that were unreachable for a while.
 */
export const RECOVERY_WINDOW_MS = 300 * SECOND_MS
