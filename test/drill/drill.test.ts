/** The cheapest of the drills, so that none of them is broken unnoticed: it needs no server. `make drill` rehearses the others. */
import { expect, test } from 'vitest'
import { SEED, seeded } from '../run/form.ts'
import { FOLDER_DRILLS, openFolderGround } from './folder.ts'
import { rehearse } from './rehearsal.ts'

test('the data folder comes back from a backup under load, and misses no promise but those since the backup', async ({
  signal,
}) => {
  await using ground = await openFolderGround()
  const disaster = FOLDER_DRILLS[0]?.disaster(ground.service)
  if (disaster === undefined) throw new Error('there is no drill')
  const { before, since } = await rehearse(disaster, {
    stage: ground.stage,
    random: seeded(SEED),
    isShort: true,
    signal,
  })
  expect(since).toEqual([])
  expect([...before.keys()].filter((promise) => !disaster.mayMiss.includes(promise))).toEqual([])
})
