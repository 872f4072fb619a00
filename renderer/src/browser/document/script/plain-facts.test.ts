import { expect, test } from 'vitest'
import { plainFacts } from './plain-facts.ts'

const BEGINNING = '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n<title>x</title>'

test.for([
  [`${BEGINNING}<style>p { color: red }</style><p>x &amp; y</p>`, 'en'],
  ['<!DOCTYPE html><html lang="de-AT">x', 'de-AT'],
  ['<!doctype html><html><p lang="fr">x', ''],
  ['<!doctype html><html lang="">x', ''],
] as const)('%s needs no look, and is in the language "%s"', ([html, language]) => {
  expect(plainFacts(html)).toMatchObject({ language, author: '', faults: { hasScript: false, unrequested: [] } })
})

test('metadata at the beginning needs no look: the first of each name, trimmed', () => {
  const meta =
    '<meta name="Author" content=" Ada "> <meta name="viewport" content="width=a4">\n<meta name="description" content="Öl">'
  const html = `<!doctype html><html>${meta}<title>A &amp; B</title><meta name="author" content="Eve"><p>x`
  expect(plainFacts(html)).toMatchObject({ author: 'Ada', subject: 'Öl', keywords: '', language: '' })
})

test.for([
  'x',
  '<html lang="en">x',
  '<!doctype html><!-- --><html lang="en">x',
  '<!doctype html><html lang=en>x',
  '<!doctype html><html class="a" lang="en">x',
  '<!doctype html><html lang="&#100;e">x',
  `${BEGINNING}<HTML dir="rtl">`,
  `${BEGINNING}<meta name="author" content="a &amp; b">`,
  `${BEGINNING}<meta name=author content="x">`,
  `${BEGINNING}<meta name="author" content="${'x'.repeat(1000)}">`,
  `${BEGINNING}<p>x<meta name="author" content="x">`,
  `${BEGINNING}<!--<meta name="author" content="x">-->`,
  `${BEGINNING}<meta http-equiv="refresh" content="1">`,
  `${BEGINNING}<IMG src="a">`,
  `${BEGINNING}<image src="a">`,
  `${BEGINNING}<iframe src="a">`,
  `${BEGINNING}<embed src="a">`,
  `${BEGINNING}<object data="a">`,
  `${BEGINNING}<input type="image" src="a">`,
  `${BEGINNING}<link rel="stylesheet" href="a">`,
  `${BEGINNING}<script>x</script>`,
  `${BEGINNING}<svg><script>x</script></svg>`,
  `${BEGINNING}<p style="background: URL(a)">x`,
  `${BEGINNING}<p style="background: u\\72l(a)">x`,
  `${BEGINNING}<style>@IMPORT "a"</style>`,
  `${BEGINNING}<style>@font-face { font-family: x }</style>`,
])('%s needs a look', (html) => {
  expect(plainFacts(html)).toBeUndefined()
})
