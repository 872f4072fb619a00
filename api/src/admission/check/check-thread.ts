/** What runs in a thread of checks: one task after the other. */
import { openFitCheck } from './fit.ts'

// oxlint-disable-next-line import/no-default-export -- it is what a pool calls
export default openFitCheck()
