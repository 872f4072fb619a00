/** Limits of the stores of the embedded service, each with its unit and the reason for its value. */
import { PDF_BYTES_MAX } from '@platen/contract/domain/limit.ts'

const SECOND_MS = 1000
const HOUR_MS = 3600 * SECOND_MS

/** Nothing new is accepted with less free disk space: the size of the largest PDF, so that accepted renders can be stored. */
export const DISK_FREE_BYTES_MIN = PDF_BYTES_MAX

/** How long events and charges are kept: longer than a month of quota and any retry of a webhook. */
export const EVENTS_KEPT_MS = 40 * 24 * HOUR_MS
