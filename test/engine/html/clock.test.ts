/**
 * That no clock, no host and no chance is in a document: each of a corpus is printed twice, in two browsers that have another time, another time
 * zone and another language, and has the same bytes.
 */
import { chmodSync, existsSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { findChromium } from '@platen/renderer/browser/executable.ts'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { NEVER } from '../../fixture/build.ts'
import { anEngine, aWork, isBlank, temporaryFolder, textOf, type WorkParts } from './html-fixture.ts'

/** Debian's package libfaketime. Without it, the two browsers differ in all but their time. */
const FAKETIME = '/usr/lib/x86_64-linux-gnu/faketime/libfaketime.so.1'

let folder: string
let here: Awaited<ReturnType<typeof anEngine>>
let elsewhere: Awaited<ReturnType<typeof anEngine>>
beforeAll(async () => {
  here = await anEngine()
  folder = temporaryFolder()
  const executablePath = join(folder, 'chromium')
  const preload = existsSync(FAKETIME) ? `LD_PRELOAD=${FAKETIME} FAKETIME=+400d` : ''
  const place = 'TZ=Asia/Tokyo LANG=ja_JP.UTF-8 LANGUAGE=ja HOSTNAME=elsewhere'
  writeFileSync(executablePath, `#!/bin/sh\n${preload} ${place} exec ${await findChromium({})} "$@"\n`)
  chmodSync(executablePath, 0o755)
  elsewhere = await anEngine({ executablePath })
})
afterAll(async () => {
  rmSync(folder, { recursive: true, force: true })
  await here[Symbol.asyncDispose]()
  await elsewhere[Symbol.asyncDispose]()
})

const EDGE =
  '<p style="font-size: 8px"><b class="date"></b> <b class="url"></b> <b class="title"></b> <b class="pageNumber"></b></p>'
const MARGIN = '<style>@page { margin: 20mm }</style>'
const svg = (inside: string) =>
  `data:image/svg+xml;base64,${Buffer.from(`<svg xmlns="http://www.w3.org/2000/svg" width="100" height="100">${inside}</svg>`).toString('base64')}`

test.for<[string, string, WorkParts?]>([
  ['a header', `${MARGIN}<p>x`, { header: EDGE, footer: EDGE, template: { locale: 'de-DE' } }],
  [
    'fields of a form',
    '<input type="date"><input type="time"><input type="month"><input type="week"><input type="datetime-local"><input type="color"><select><option>1</select><progress></progress>',
  ],
  ['an animation', '<style>@keyframes move { to { margin-left: 300px } } p { animation: move 3s linear }</style><p>x'],
  [
    'an endless animation',
    '<style>@keyframes turn { to { rotate: 360deg } } p { animation: turn 1s linear infinite; width: 9px }</style><p>x',
  ],
  [
    'an animation of a pseudo-element',
    '<style>@keyframes fade { from { opacity: 0 } } p::before { content: "x"; animation: fade 2s }</style><p>y',
  ],
  [
    'a drawing that moves',
    '<svg width="300" height="20"><rect width="9" height="9"><animate attributeName="x" to="250" dur="3s"/></rect></svg>',
  ],
  [
    'an image that moves',
    `<img width="100" height="100" src="${svg('<rect width="9" height="9"><animate attributeName="x" to="90" dur="2s" repeatCount="indefinite"/></rect>')}">`,
  ],
  ['a marquee', '<marquee>runs</marquee>'],
  ['words of every language', '<p lang="ja">日付 直</p><p lang="ar">تاريخ</p><p>1.234,5 <time>now</time></p><q>x</q>'],
  [
    'fonts of the system',
    '<p style="font: caption">a</p><p style="font: menu">b</p><p style="font-family: system-ui">c</p><p style="color: AccentColor; background: Canvas">d</p>',
  ],
  [
    'media of the machine',
    '<style>@media (prefers-color-scheme: dark) { p { color: red } } @media (resolution > 1dppx) { p { color: red } } @media (hover) { p { color: blue } }</style><p>x',
  ],
  ['dates of Liquid', '{{ "2026-11-28T23:30:00Z" | date: "en-US", "full" }} {{ 1.5 | currency: "EUR" }}'],
])('%s', async ([, html, parts]) => {
  const work = aWork(`<!doctype html>\n${html}`, parts)
  const [one, other] = [await here.engine.render(work, NEVER), await elsewhere.engine.render(work, NEVER)]
  expect(Buffer.compare(one.pdf, other.pdf)).toBe(0)
  expect(Buffer.compare(one.pdf, (await here.engine.render(work, NEVER)).pdf)).toBe(0)
  expect(other.warnings).toEqual(one.warnings)
})

test('an animation is printed at its end', async () => {
  const html =
    '<style>@keyframes fade { from { opacity: 0 } } p { animation: fade 60s } </style><p>seen</p><marquee>runs</marquee>'
  const { pdf } = await here.engine.render(aWork(`<!doctype html>${html}`), NEVER)
  expect([textOf(pdf), isBlank(pdf)]).toEqual(['seen runs', false])
})

describe('the date of a header', () => {
  test.for<[locale: string, zone: string, printed: string]>([
    ['en-US', 'UTC', '11/28/26, 11:30 PM'],
    ['de-DE', 'Asia/Tokyo', '29.11.26, 08:30'],
  ])('is that of the render in %s and %s', async ([locale, zone, printed]) => {
    const date = Date.parse('2026-11-28T23:30:00Z')
    const parts = { header: EDGE, template: { locale }, options: { time_zone: zone } }
    const { pdf } = await here.engine.render({ ...aWork(`<!doctype html>${MARGIN}`, parts), date }, NEVER)
    expect(textOf(pdf)).toBe(`${printed} The template’s name 1`)
  })
})
