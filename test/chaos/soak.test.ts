/** The soak in short: what `make soak` does two thousand times, often enough to see a slot or a process go missing. */
import { expect, test } from 'vitest'
import { SLOTS, soak } from '../soak/soak.ts'

/** In both halves together each trick of the hostile tenant comes once. */
const EVERY = 55
const CALM = 16
/** Wider than in the long form: after so few renders a thread that was replaced just now shows. A page or a thread that is left behind by each hostile render shows more. */
const GROWTH_MAX = 0.3

test('mixed renders, one in ten hostile, end as they should and leave nothing behind', async () => {
  const { looks, surprises, atOnce, strays, exitCode } = await soak({ renders: 2 * EVERY, every: EVERY, calm: CALM })
  expect(surprises).toEqual([])
  expect(atOnce).toEqual({ react_pdf: SLOTS, html: SLOTS })
  expect(strays).toEqual([])
  expect(exitCode).toBe(0)
  const [level = 0, later = 0] = looks.map(({ pss }) => pss)
  expect(level).toBeGreaterThan(0)
  expect(later / level).toBeLessThan(1 + GROWTH_MAX)
})
