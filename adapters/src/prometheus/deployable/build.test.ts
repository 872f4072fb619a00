import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { aFolder } from '../../../../test/fixture/lifetime.ts'
import { installedVersion } from '../../version.ts'
import { openRegistry } from '../registry.ts'
import { gaugeBuild } from './build.ts'

const SHA = '86f4badd0c5f0b3e6f5a7c8d9e0f1a2b3c4d5e6f'

test.for<[string, string | undefined, string]>([
  ['that the image was built from', `${SHA}\n`, SHA],
  ['with a mark for changed files', `${SHA}-dirty\n`, `${SHA}-dirty`],
  ['that nobody gave', '\n', 'unknown'],
  ['outside of an image', undefined, 'unknown'],
])('a build says its version and the commit %s', async ([, written, commit]) => {
  const folder = aFolder()
  if (written !== undefined) writeFileSync(join(folder, 'commit'), written)
  const metrics = openRegistry()
  gaugeBuild(metrics, { deployable: 'api', folder })
  expect(await metrics.text()).toContain(
    `platen_build_info{version="${installedVersion()}",commit="${commit}",deployable="api"} 1`,
  )
})
