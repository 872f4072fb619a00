/** Links between documents lead somewhere: to a file of the repository and, after `#`, to one of its headings. */
import { dirname, join, normalize } from 'node:path'
import { expect, test } from 'vitest'
import { listFiles, readText } from './architecture/source-tree.ts'

const files = listFiles()
const known = new Set(files.flatMap(withFolders))
const documents = files.filter((file) => file.endsWith('.md'))

test.for(documents)('every link of %s leads somewhere', (path) => {
  expect(linksOf(path).filter((link) => !isGood(path, link))).toEqual([])
})

function linksOf(path: string): readonly string[] {
  const text = readText(path).replaceAll(/^ *```[^]*?^ *```/gm, '')
  const links = [...text.matchAll(/\]\(([^()\s]+)\)/g)].map(([, link = '']) => link)
  return links.filter((link) => !/^[a-z]+:/.test(link))
}

function isGood(path: string, link: string): boolean {
  const [target = '', heading] = link.split('#')
  const file = target === '' ? path : normalize(join(dirname(path), target)).replace(/\/$/, '')
  return known.has(file) && (heading === undefined || headingsOf(file).has(heading))
}

/** The names that headings have in a link, as GitHub makes them. */
function headingsOf(file: string): ReadonlySet<string> {
  const headings = [...readText(file).matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) => heading)
  return new Set(
    headings.map((heading) =>
      heading
        .toLowerCase()
        .replaceAll(/[^\p{L}\p{N} _-]/gu, '')
        .replaceAll(' ', '-'),
    ),
  )
}

function withFolders(path: string): readonly string[] {
  const parts = path.split('/')
  return ['.', ...parts.map((_, index) => parts.slice(0, index + 1).join('/'))]
}
