/** What grows with the tenants, templates and renders of an installation: times and bytes at each size, as tables. */
import type { Figure } from '../../measure.ts'
import { charges } from './charge.ts'
import { kept } from './kept.ts'
import { settings } from './settings.ts'

export async function* growth(scale: number): AsyncGenerator<Figure> {
  yield* kept(scale)
  yield* charges()
  yield* settings(scale)
}
