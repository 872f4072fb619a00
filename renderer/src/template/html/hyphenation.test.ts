import { expect, test } from 'vitest'
import { hyphenatorOf } from './hyphenation.ts'

test.for([
  ['en', 'extraordinary hyphenation', 'ex-tra-or-di-nary hy-phen-ation'],
  ['en-US', 'representative', 'rep-re-sen-ta-tive'],
  ['en-GB', 'representative', 'rep-res-ent-at-ive'],
  ['de', 'Rechnungsbetrag', 'Rech-nungs-be-trag'],
  ['de-AT', 'Umsatzsteuer-Identifikationsnummer', 'Um-satz-steu-er-Iden-ti-fi-ka-ti-ons-num-mer'],
  ['es', 'desarrollo', 'desa-rro-llo'],
  ['fr', 'développement', 'dé-ve-lop-pe-ment'],
  ['it', 'fatturazione', 'fat-tu-ra-zio-ne'],
  ['nl', 'rekeningnummer', 're-ke-ning-num-mer'],
  ['pl', 'odpowiedzialność', 'od-po-wie-dzial-ność'],
  ['pt-BR', 'responsabilidade', 'res-pon-sa-bi-li-da-de'],
  ['ru', 'ответственность', 'от-вет-ствен-ность'],
  ['sv', 'fakturanummer', 'fak-tu-ra-num-mer'],
])('%s: %s', ([language = '', text = '', hyphenated]) => {
  const parts = hyphenatorOf(language)?.(text) ?? []
  // The hyphen that the text has itself is not one of a dictionary.
  expect(parts.join('-').replace('--', '-')).toBe(hyphenated)
})

test.for([
  ['a word of an exception', 'en', 'associate', ['as-so-ciate']],
  ['a short word', 'de', 'aber', ['aber']],
  ['punctuation and numbers', 'en', '(1,234.50) a.b@example.com', ['(1,234.50) a.b@ex-am-ple.com']],
  ['a word that no dictionary has', 'de', 'x'.repeat(200), ['x'.repeat(200)]],
  ['a letter whose small form has two', 'en', 'İİİİİİİİ', ['İİİİİİİİ']],
  ['nothing', 'en', '', ['']],
])('leaves no letter out: %s', ([, language, text, expected]) => {
  const parts = hyphenatorOf(String(language))?.(String(text)) ?? []
  expect(parts.join('')).toBe(text)
  expect([parts.join('-')]).toEqual(expected)
})

test.for(['ja', 'xx', '', '../de', '__proto__', 'constructor'])('has no dictionary for "%s"', (language) => {
  expect(hyphenatorOf(language)).toBeUndefined()
})
