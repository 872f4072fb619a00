/** What a page would say of a document whose HTML already tells it. Pure. */
import type { DocumentFacts } from './script.ts'

/**
 * What `inspectScript` finds in a document without scripts and without doubtful characters. Undefined if its HTML has anything that only the
 * page can tell about. To ask the page is nearly a tenth of what a small document takes. Linear in the length of the HTML, which is untrusted.
 */
export function plainFacts(html: string): Omit<DocumentFacts, 'broken'> | undefined {
  const [beginning, language = ''] = BEGINNING.exec(html) ?? []
  if (beginning === undefined) return undefined
  const metadata = new Map<string, string>()
  let end = beginning.length
  for (const [tag, name, content = ''] of html.slice(end).matchAll(HEAD_TAGS)) {
    end += tag.length
    // The first of a name counts.
    if (name !== undefined && !metadata.has(name.toLowerCase())) metadata.set(name.toLowerCase(), content.trim())
  }
  if (LOOKED_AT.test(html.slice(end))) return undefined
  return {
    author: metadata.get('author') ?? '',
    subject: metadata.get('description') ?? '',
    keywords: metadata.get('keywords') ?? '',
    language,
    missing: '',
    faults: {
      images: [],
      fonts: [],
      unrequested: [],
      unaddressed: [],
      links: [],
      texts: [],
      damaged: [],
      hasScript: false,
    },
  }
}

/** How documents usually begin. The parser takes the attributes of this first tag. */
const BEGINNING = /^\s{0,9}<!doctype html>\s{0,9}<html(?: lang="([\w-]{0,99})")?>\s{0,9}(?:<head>)?/i

/** The tags that follow, as long as they say literally what they mean. */
const HEAD_TAGS =
  /\s{0,99}(?:<meta charset="utf-8">|<title>[^<]{0,999}<\/title>|<meta name="(\w{1,99})" content="([^"&\r\0]{0,999})">)/giy

/**
 * Other metadata, a second `html`, which would add attributes to the first, all that loads a file: as an element, or by a style, whose
 * names may be written with a backslash; and links, but for those to a whole address.
 */
const LOOKED_AT =
  /<(?:html|meta|base|img|image|iframe|embed|object|input|link|script|area|a\s(?!href="(?:https?:\/\/\w|mailto:|tel:)))|url\(|@font-face|@import|\\/i
