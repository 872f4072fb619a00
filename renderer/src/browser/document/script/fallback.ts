/**
 * Adds the font families of scripts to the styles of a document. Chromium would find a font for each character by itself, but only regular
 * faces, which it makes bold itself. And it keeps the first font for a Han character for all later documents, whatever their language.
 */
import { DEFAULT_FAMILY } from '../../../template/asset/font/default-fonts.ts'
import { FALLBACKS, HAN_LANGUAGES, hanFamilies } from '../../../template/asset/font/script.ts'
import { PLAIN } from '../../../template/html/plain.ts'

/** Returns a script for the page. `locale` is the language of elements without one. The script does not see text that CSS makes. */
export function fallbackScript(locale: string | undefined): string {
  const han = HAN_LANGUAGES.map(([, ranges]) => ({
    selector: ranges.map((range) => `:lang(${range})`).join(', '),
    families: hanFamilies(ranges[0]),
  }))
  const parts = {
    first: DEFAULT_FAMILY,
    fallbacks: FALLBACKS,
    han,
    others: hanFamilies(),
    unnamed: hanFamilies(locale),
  }
  return `(${FALL_BACK})(${JSON.stringify(parts)})`
}

/** Reads all styles before it changes the first one, so that the page is styled again only once. Other kinds of elements have no styles. */
const FALL_BACK = `({ first, fallbacks, han, others, unnamed }) => {
  const strange = /[^${PLAIN}]/u
  const patterns = fallbacks.map(({ family, characters }) => ({ family, pattern: new RegExp('[' + characters + ']', 'u') }))
  const texts = new Map()
  const walker = Document.prototype.createTreeWalker.call(document, document, NodeFilter.SHOW_TEXT)
  while (walker.nextNode()) {
    const { data, parentElement } = walker.currentNode
    if (parentElement !== null && strange.test(data)) texts.set(parentElement, (texts.get(parentElement) ?? '') + data)
  }
  const has = (element, selector) => Element.prototype.matches.call(element, selector)
  const hanOf = (element) => {
    const named = han.find(({ selector }) => has(element, selector))
    if (named !== undefined) return named.families
    return has(element, '[lang] *, [lang]') ? others : unnamed
  }
  const kinds = [HTMLElement, SVGElement, MathMLElement]
  const styleOf = (element) => {
    const kind = kinds.find((each) => element instanceof each)
    return kind && Object.getOwnPropertyDescriptor(kind.prototype, 'style').get.call(element)
  }
  const styles = Array.from(texts, ([element, text]) => {
    const wanted = patterns.filter(({ pattern }) => pattern.test(text)).flatMap(({ family }) => family ?? hanOf(element))
    const names = [first, ...wanted].map((family) => '"' + family + '"')
    return [styleOf(element), [getComputedStyle(element).fontFamily, ...names].join(', ')]
  })
  for (const [style, families] of styles) style?.setProperty('font-family', families, 'important')
  return 'true'
}`
