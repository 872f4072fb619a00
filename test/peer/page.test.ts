import { describe, expect, test } from 'vitest'
import { readText } from '../architecture/source-tree.ts'
import { wholeKeys } from './case.ts'
import { GOTENBERG } from './install.ts'
import { PEERS } from './list.ts'
import { DOCUMENTS, documentWith } from './page.ts'
import { keyOf, readResults } from './result.ts'

// -u writes the tables again, from the results that there are.
test.for(DOCUMENTS)('%s has the results of the last benchmark', async (path) => {
  await expect(documentWith(path, readResults())).toMatchFileSnapshot(`../../${path}`)
})

describe('the results', () => {
  test('are of every contender but those named as absent, once for each size and number at a time', () => {
    const results = readResults()
    expect(results.cells.map(keyOf).toSorted()).toEqual(wholeKeys(results).toSorted())
  })

  test('are of the versions that the titles name', () => {
    const packages = JSON.parse(readText('test/package.json')) as { readonly dependencies: Record<string, string> }
    const { dependencies } = JSON.parse(readText('test/peer/package/package.json')) as typeof packages
    const requirements = readText('test/peer/package/requirements.txt')
    const versionOf = (name: string) => new RegExp(`^${name}==(\\S+)`, 'm').exec(requirements)?.[1]
    const pinned = {
      Gotenberg: GOTENBERG,
      jsreport: dependencies['jsreport'],
      'puppeteer-cluster': packages.dependencies['puppeteer-cluster'],
      WeasyPrint: versionOf('weasyprint'),
      PlutoBook: versionOf('plutoprint'),
      fulgur: versionOf('pyfulgur'),
      'react-pdf': packages.dependencies['@react-pdf/renderer'],
    }
    for (const [name, version] of Object.entries(pinned)) {
      const [title = ''] = PEERS.map((peer) => peer.title).filter((candidate) => candidate.startsWith(name))
      const [, shown = 'no version'] = / (\d+(?:\.\d+)?)/.exec(title) ?? []
      expect(`${version}.`, title).toMatch(new RegExp(`^${shown.replace('.', '\\.')}\\.`))
    }
  })
})
