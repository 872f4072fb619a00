/** Orders the files of a run: the longest first, so that the last file to end is short. The order does not change the results. */
import { BaseSequencer, type TestSpecification } from 'vitest/node'

/** Files that take minutes, the longest first. A fresh clone has no times of earlier runs. */
const LONG = [
  'test/chaos/cluster/guard.test.ts',
  'test/hostile/attack/html.test.ts',
  'test/hostile/attack/react-pdf.test.ts',
  'test/operator/chaos/chaos.test.ts',
  'test/operator/promise/propagated.test.ts',
]

export class LongestFirst extends BaseSequencer {
  override async sort(specifications: TestSpecification[]): Promise<TestSpecification[]> {
    const rank = ({ moduleId }: TestSpecification) => {
      const at = LONG.findIndex((file) => moduleId.endsWith(file))
      return at === -1 ? LONG.length : at
    }
    const sorted = await super.sort(specifications)
    return sorted.toSorted((one, other) => rank(one) - rank(other))
  }
}
