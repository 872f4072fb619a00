/** All attacks beside which a neighbour is watched. */
import type { Attack } from './attacker.ts'
import { CONNECTION_ATTACKS, REQUEST_ATTACKS } from './request.ts'
import { SOURCE_ATTACKS } from './source.ts'

export const ATTACKS: readonly Attack[] = [...SOURCE_ATTACKS, ...REQUEST_ATTACKS, ...CONNECTION_ATTACKS]
