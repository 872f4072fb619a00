/** Documents of many pages: a table of contents with page numbers, and heads that name the chapter. */
import { describe, expect, test } from 'vitest'
import { shared } from '../fixture/lifetime.ts'
import { anEngine, aWork, inspect, type WorkParts } from './html/html-fixture.ts'

const opened = shared(() => anEngine())
const print = (html: string, parts?: WorkParts) => opened().render(aWork(`<!doctype html>${html}`, parts))

/** The text of each page. */
function pagesOf(pdf: Uint8Array): readonly string[] {
  return inspect(pdf, 'pdftotext', '-layout', 'FILE', '-')
    .split('\f')
    .slice(0, -1)
    .map((page) => page.replace(/\s+/g, ' ').trim())
}

const NUMBERS =
  '<style>@page { size: A5; margin: 2cm } a::after { content: " on " target-counter(attr(href), page) }</style>'

const CHAPTERS = ['One', 'Two words', 'Dr%i', 'größe', 'ends']
const BOOK = `${NUMBERS}<style>h1 { break-before: page } a { display: block }</style>
{% for name in names %}<a href="#{{ name }}">{{ name }}</a>{% endfor %}
{% for name in names %}<h1 id="{{ name }}">Chapter {{ name }}.</h1>{% for row in rows %}<p>{{ row }} of a long chapter that goes on and on</p>{% endfor %}{% endfor %}`

describe('a table of contents', () => {
  test('names the page on which each chapter begins, whatever its id', async () => {
    const pdf = await print(BOOK, { data: { names: CHAPTERS, rows: Array.from({ length: 25 }, (_, row) => row) } })
    inspect(pdf, 'qpdf', '--check')
    const pages = pagesOf(pdf)
    expect(pages.length).toBeGreaterThan(CHAPTERS.length + 3)
    for (const name of CHAPTERS) {
      const begins = pages.findIndex((page) => page.includes(`Chapter ${name}.`)) + 1
      expect(pages[0]).toContain(`${name} on ${begins}`)
    }
  })

  test('is right when its own numbers move what follows', async () => {
    // Each number takes a line of its own in this narrow column, so with numbers the contents are longer than without.
    const names = Array.from({ length: 120 }, (_, index) => `c${index}`)
    const narrow =
      '<style>@page { size: 200pt 300pt; margin: 20pt } a { display: block; width: 30pt } a::after { content: "page " target-counter(attr(href), page) } h1 { break-before: page; font-size: 9pt }</style>'
    const pdf = await print(
      `${narrow}{% for name in names %}<a href="#{{ name }}">{{ name }}</a>{% endfor %}{% for name in names %}<h1 id="{{ name }}">={{ name }}=</h1>{% endfor %}`,
      { data: { names } },
    )
    const pages = pagesOf(pdf)
    const contents = pages.join(' ')
    for (const name of ['c0', 'c60', 'c119']) {
      const begins = pages.findIndex((page) => page.includes(`=${name}=`)) + 1
      expect(contents).toMatch(new RegExp(`\\b${name} ?page ${begins}\\b`))
    }
  })

  test('may be at the end, and refer to the page it is on', async () => {
    const pdf = await print(
      `${NUMBERS}<h1 id="a">First</h1><p style="break-before: page">x</p><a href="#a">back</a> <a href="#here">own</a><p id="here">y</p>`,
    )
    expect(pagesOf(pdf)[1]).toBe('x back on 1 own on 2 y')
  })

  test('warns of a target that is not there, and prints a question mark', async () => {
    const { pdf, warnings } = await opened().engine.render(
      aWork(`${NUMBERS}<a href="#nowhere">lost</a>`),
      AbortSignal.timeout(60_000),
    )
    expect(pagesOf(pdf)).toEqual(['lost on ?'])
    expect(warnings).toEqual([
      { code: 'target_absent', message: 'a link names the page of #nowhere, and no element has this id' },
    ])
  })

  test('of two thousand links is printed within the limits, and equal input gives equal bytes', async () => {
    const names = Array.from({ length: 2_000 }, (_, index) => index)
    const html = `${NUMBERS}<style>a { display: block; font-size: 4pt }</style>{% for name in names %}<a href="#n{{ name }}">x</a>{% endfor %}<p id="n1999">end</p>`
    const [one, other] = [await print(html, { data: { names } }), await print(html, { data: { names } })]
    expect(pagesOf(one).join(' ')).toMatch(/x on \d+ end$/)
    expect(Buffer.compare(one, other)).toBe(0)
  })

  test('shows the words in a text as they are', async () => {
    expect(pagesOf(await print('<p>content: target-counter(attr(href), page)</p>'))).toEqual([
      'content: target-counter(attr(href), page)',
    ])
  })

  test('works in a document with scripts, which cannot reach it', async () => {
    const html = `${NUMBERS}<a href="#a">link</a><p id="a" style="break-before: page">x</p><script>Map.prototype.get = () => 99; Element.prototype.setAttribute = () => {}; document.title = 'T'</script>`
    expect(pagesOf(await print(html, { javascript: true, javascriptEnabled: true }))[0]).toBe('link on 2')
  })
})

test('a page names its chapter in its head, by a page name for each', async () => {
  const html = `<style>{% for name in names %}
    @page chapter{{ forloop.index }} { @top-left { content: "{{ name }}" } @bottom-right { content: counter(page) } }
    #chapter{{ forloop.index }} { page: chapter{{ forloop.index }} }
  {% endfor %}</style>
  {% for name in names %}<section id="chapter{{ forloop.index }}"><h1>Start</h1><p style="break-before: page">more</p></section>{% endfor %}`
  const pages = pagesOf(await print(html, { data: { names: ['Alpha', 'Beta'] } }))
  expect(pages).toEqual(['Alpha Start 1', 'Alpha more 2', 'Beta Start 3', 'Beta more 4'])
})
