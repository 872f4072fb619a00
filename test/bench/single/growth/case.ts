/** What grows with the tenants, templates and renders of an installation: times and bytes at each size, as tables. */
import type { Figure } from '../../measure.ts'
import { charges } from './charge.ts'
import { expiry } from './expiry.ts'
import { kept } from './kept.ts'
import { settings } from './settings.ts'
import { views } from './view.ts'

/** Each table is a case of its own, such as `growth-kept`, and `growth` is all of them. */
export const GROWTH = {
  'growth-kept': kept,
  'growth-views': views,
  'growth-expiry': expiry,
  'growth-charges': charges,
  'growth-settings': settings,
} as const satisfies Record<string, (scale: number) => AsyncGenerator<Figure>>
