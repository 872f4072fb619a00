/** `platen check` as people run it; in a process of its own where its exit code or its streams are looked at first. */
import { mkdir, readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { beforeEach, describe, expect, test } from 'vitest'
import { aFolder } from '../fixture/lifetime.ts'
import { KEY, PLAN, TENANT, templateHead } from '../fixture/manifests.ts'
import { block, LETTER, MAIN, platen, platenWith, ROOT, run } from './command.ts'

const template = (source: string) => `${templateHead('letter')}  reactPdf: {source: {inline: "${source}"}}\n`
const GOOD = "import { Document } from '@react-pdf/renderer'; export default () => <Document />"

let folder = ''
beforeEach(() => {
  folder = aFolder()
})

describe('platen check', () => {
  test('finds no fault with the examples, called as the documents say', async () => {
    const { code, out, err } = await run('npx', ['--no', 'platen', 'check', 'examples'])
    expect({ code, err }).toEqual({ code: 0, err: '' })
    expect(out).toMatch(/^\d+ files, \d+ resources, \d+ previews: no faults\n$/)
  })

  test('prints every fault with its place, and a sum', async () => {
    await writeFile(
      join(folder, 'a.yaml'),
      [PLAN.replace('spec: {}', 'spec:\n  asyncFairShare: 0\n  retentionDay: 3'), TENANT, KEY].join('---\n'),
    )
    await writeFile(
      join(folder, 'b.yaml'),
      [template('export default () => nothing(').replace('tenantRef', 'version: 0\n  tenantRef'), TENANT].join('---\n'),
    )
    await writeFile(join(folder, 'c.yaml'), 'kind: [\n')
    const { code, out } = await run(process.execPath, [MAIN, 'check', folder])
    expect(code).toBe(1)
    const lines = out.split('\n')
    expect(lines.filter((line) => !line.startsWith('    '))).toEqual([
      `${folder}/a.yaml:5:19: Plan starter: /spec/asyncFairShare: must be >= 1`,
      `${folder}/a.yaml:6:17: Plan starter: /spec/retentionDay: is not a known field (did you mean retentionDays?)`,
      `${folder}/a.yaml:11:24: Tenant acme: PlanNotFound: there is no Plan starter`,
      `${folder}/a.yaml:16:26: ApiKey team-acme/ci: TenantNotReady: Tenant acme is not ready: see its conditions`,
      `${folder}/b.yaml:5:12: Template team-acme/letter: /spec/version: must be >= 1`,
      `${folder}/b.yaml:9:1: Tenant acme: is declared already in a.yaml, line 8`,
      expect.stringMatching(/c\.yaml:\d:\d: .*flow sequence/i),
      '3 files, 2 resources, 0 previews: 7 faults',
      '',
    ])
    const below = (message: string) => lines.slice(lines.findIndex((line) => line.includes(message)) + 1)
    expect(below('/spec/asyncFairShare').slice(0, 5)).toEqual([
      '      3 | metadata: {name: starter}',
      '      4 | spec:',
      '    > 5 |   asyncFairShare: 0',
      '        |                   ^',
      '      6 |   retentionDay: 3',
    ])
    expect(below('Flow sequence')[0]).toBe('    > 1 | kind: [')
  })

  test('shows no line of what may be a Secret', async () => {
    const broken = 'kind: Secret\nstringData: {a: "swordfish-1\n'
    const wrong = 'kind: Secret\nmetadata: {name: s}\nstringDatum: {a: swordfish-2}\n'
    await writeFile(join(folder, 'a.yaml'), [PLAN, broken].join('---\n'))
    await writeFile(join(folder, 'b.yaml'), [wrong, TENANT].join('---\n'))
    const { code, out } = await run(process.execPath, [MAIN, 'check', folder])
    expect(code).toBe(1)
    expect(out).toContain('a.yaml')
    expect(out).toContain('b.yaml')
    expect(out).not.toContain('swordfish')
  })

  test('refuses a name that a closed schema does not have, and shows what a template writes to its console', async () => {
    const schema =
      '  variablesSchema: {type: object, properties: {total: {type: number}}, additionalProperties: false}\n'
    const html = `${templateHead('bill')}${schema}  engine: Html\n  html: {template: {inline: "<p>{{ totla }}</p>"}}\n`
    const talking = template(`console.warn('so far'); ${GOOD.replaceAll('"', "'")}`)
    await writeFile(join(folder, 'all.yaml'), [PLAN, TENANT, html, `${talking}  sampleData: {}\n`].join('---\n'))
    const { code, out } = await platen('check', folder)
    expect(code).toBe(1)
    const message = 'template.html:1:7: there is no variable totla in variablesSchema (did you mean total?)'
    expect(out).toContain(`Template team-acme/bill: CompileError: ${message}`)
    expect(out).toMatch(
      /all\.yaml:\d+:\d+: note: Template team-acme\/letter: console\.warn: template\.tsx:1:\d+: so far/,
    )
  })

  test('checks templates as the service does, each by itself', async () => {
    const broken = template('export default () => {\\n  return nothing(').replace('name: letter', 'name: broken')
    const endless = template('for (;;) {}; export default () => null').replace('name: letter', 'name: endless')
    await writeFile(join(folder, 'all.yaml'), [PLAN, TENANT, template(GOOD), broken, endless].join('---\n'))
    const { code, out } = await platen('check', folder)
    expect(code).toBe(1)
    expect(out).toMatch(
      /^.*all\.yaml:23:31: Template team-acme\/broken: CompileError: template\.tsx:\d:\d+: .*\n(?: {4}.*\n)+.*all\.yaml:30:31: Template team-acme\/endless: CompileError: template\.tsx: the template ran too long: .*\n1 file, 5 resources, 0 previews: 2 faults\n$/,
    )
  })

  test('wants the engine of a template that has only an html source, and says which', async () => {
    const page = `${templateHead('letter')}  html: {template: {inline: "<p>"}}\n`
    await writeFile(join(folder, 'all.yaml'), [PLAN, TENANT, page].join('---\n'))
    const { code, out } = await platen('check', folder)
    expect(code).toBe(1)
    expect(out).toContain(
      'all.yaml:15:3: Template team-acme/letter: /spec/engine: must be Html, because the template has only an html source; the default is ReactPdf\n',
    )
  })

  test('warns of what is no fault', async () => {
    const both = `${template(GOOD)}  html: {template: {inline: "<p>"}, javascriptEnabled: true}\n`
    await writeFile(join(folder, 'all.yaml'), [PLAN, TENANT, both].join('---\n'))
    const { code, out } = await platen('check', folder)
    expect(code).toBe(0)
    expect(out.split('\n')).toEqual([
      expect.stringContaining('all.yaml:17:9: warning: Template team-acme/letter: EngineNotInPlan: '),
      '1 file, 3 resources, 0 previews: no faults',
      '',
    ])
  })

  test('holds a component against its schema, where no sample leads either', async () => {
    const schema =
      '  variablesSchema: {type: object, additionalProperties: false, properties: {name: {type: string}}}\n'
    const source = LETTER.replace('{data.name}', '{data.name.length > 9 && data.nmae}')
    const letter = `${templateHead('letter')}${schema}  reactPdf:\n    source:\n${block('inline', source, 6)}`
    await writeFile(join(folder, 'all.yaml'), [PLAN, TENANT, letter].join('---\n'))
    const { code, out } = await platen('check', folder, '--no-render')
    expect(code).toBe(1)
    expect(out).toMatch(
      /all\.yaml:\d+:54: Template team-acme\/letter: CompileError: template\.tsx:4:46: data\.nmae: variablesSchema has no such variable \(did you mean name\?\)\n/,
    )
    expect(out).toContain('<Text>Dear {data.name.length > 9 && data.nmae}, this is react_pdf.</Text>\n')
    expect(out).toMatch(/\n1 file, 3 resources: 1 fault\n$/)
  })

  test('warns of what a source may mean so', async () => {
    const schema = '  variablesSchema: {type: object, properties: {name: {type: string}}}\n'
    const source = LETTER.replace('data.name', 'data.name.trim()')
    const letter = `${templateHead('letter')}${schema}  reactPdf:\n    source:\n${block('inline', source, 6)}`
    await writeFile(join(folder, 'all.yaml'), [PLAN, TENANT, letter].join('---\n'))
    const { code, out } = await platen('check', folder, '--no-render')
    expect(code).toBe(0)
    expect(out).toContain(
      'warning: Template team-acme/letter: Source: template.tsx:4:17: data.name may be absent: variablesSchema does not require it\n',
    )
    expect(out).toMatch(/\n1 file, 3 resources: no faults\n$/)
  })

  test('finds the secrets that tenants refer to, and quotes none', async () => {
    const referring = (key: string) =>
      TENANT.replace(
        'spec: {',
        `spec: {deletionPolicy: Retain, webhookSecretRef: {namespace: a, name: hook, key: ${key}}, `,
      )
    const secret =
      'apiVersion: v1\nkind: Secret\nmetadata: {name: hook, namespace: a}\nstringData: {good: brought-along-0123456789, bad: too-short}\n'
    await writeFile(join(folder, 'all.yaml'), [PLAN, referring('good'), secret].join('---\n'))
    const good = await platen('check', folder)
    expect(good.out).toBe('1 file, 2 resources, 0 previews: no faults\n')
    await writeFile(join(folder, 'all.yaml'), [PLAN, referring('bad'), secret].join('---\n'))
    const bad = await platen('check', folder)
    expect(bad.code).toBe(1)
    expect(bad.out).toContain(
      'all.yaml:9:50: Tenant acme: SecretMissing: webhookSecretRef names a/hook/bad, but its value is not 24 to 512',
    )
    expect(good.out + bad.out).not.toMatch(/brought-along|too-short/)
  })

  test('prints no control characters of a template’s author', async () => {
    const rude = template('throw new Error(String.fromCharCode(27, 10, 7) + 1); export default () => null')
    await writeFile(join(folder, 'all.yaml'), [PLAN, TENANT, rude].join('---\n'))
    const { out } = await platen('check', folder)
    expect(out.split('\n').filter((line) => !line.startsWith('    '))).toHaveLength(3)
    expect(out.replaceAll('\n', '')).not.toMatch(/\p{Cc}/u)
  })

  test('renders the sample data of every template, in every engine it has a source for', async () => {
    const crowded = LETTER.replace('<Page>', '<Page style={{ paddingTop: 842 }}>')
    const columns = '<div style="columns:2;height:10px">'
    const endless = `<p>{{ name }}</p>\n${columns.repeat(25)}${'word '.repeat(2000)}${'</div>'.repeat(25)}`
    const sample = '  sampleData: {name: Ada}\n'
    const texts = [
      PLAN.replace('spec: {}', 'spec: {htmlEngineEnabled: true, renderTimeoutSeconds: 2}'),
      TENANT,
      `${templateHead('good')}  reactPdf:\n    source:\n${block('inline', LETTER, 6)}  html: {template: {inline: "<p>"}}\n${sample}`,
      `${templateHead('crowded')}  reactPdf:\n    source:\n${block('inline', crowded, 6)}${sample}`,
      `${templateHead('misfit')}  engine: Html\n  variablesSchema: {type: object, required: [number]}\n  html: {template: {inline: "<p>"}}\n${sample}`,
      `${templateHead('endless')}  engine: Html\n  html:\n    template:\n${block('inline', endless, 6)}${sample}`,
      `${templateHead('unknown-data')}  engine: Html\n  html: {template: {inline: "<p>"}}\n`,
    ]
    await writeFile(join(folder, 'all.yaml'), texts.join('---\n'))
    const { code, out } = await platen('check', folder)
    expect(code).toBe(1)
    expect(out.split('\n').filter((line) => !line.startsWith('    '))).toEqual([
      expect.stringMatching(/all\.yaml:\d+:\d+: Template team-acme\/crowded: template_error: .*no room/),
      expect.stringMatching(/Template team-acme\/misfit: \/spec\/sampleData\/number: is required$/),
      expect.stringMatching(
        /Template team-acme\/endless: render_timeout: html: the render did not finish within its deadline of 2 s$/,
      ),
      '1 file, 7 resources, 4 previews: 3 faults',
      '',
    ])
    const compiledOnly = await platen('check', folder, '--no-render')
    expect([compiledOnly.code, compiledOnly.out]).toEqual([0, '1 file, 7 resources: no faults\n'])
  })

  test('tells the faults of both sources of a template, each with its place', async () => {
    const both = `${templateHead('letter')}  reactPdf:\n    source:\n${block('inline', 'nothing(', 6)}  html:\n    template:\n${block('inline', '<p>\n{{ a | b }}', 6)}`
    await writeFile(join(folder, 'all.yaml'), [PLAN, TENANT, both].join('---\n'))
    const { out } = await platen('check', folder)
    expect(out).toMatch(/all\.yaml:19:17: Template team-acme\/letter: CompileError: template\.tsx:\d:\d: /)
    expect(out).toMatch(
      /all\.yaml:24:9: Template team-acme\/letter: CompileError: template\.html:2:1: there is no filter b\n/,
    )
    expect(out).toMatch(/\n1 file, 3 resources, 0 previews: 2 faults\n$/)
  })

  test('leaves html out with a note where there is no browser', async () => {
    const html = `${templateHead('letter')}  engine: Html\n  html: {template: {inline: "<p>"}}\n  sampleData: {}\n`
    const plan = PLAN.replace('spec: {}', 'spec: {htmlEngineEnabled: true}')
    await writeFile(join(folder, 'all.yaml'), [plan, TENANT, html].join('---\n'))
    const { code, out } = await platenWith({ PLATEN_CHROMIUM: 'none' }, 'check', folder)
    expect([code, out]).toEqual([
      0,
      'note: there is no Chromium to render html: renderer/install-chromium.sh installs it\n1 file, 3 resources, 0 previews: no faults\n',
    ])
  })

  test('writes nothing', async () => {
    await writeFile(join(folder, 'all.yaml'), [PLAN, TENANT, KEY].join('---\n'))
    const before = await readdir(ROOT)
    expect((await platen('check', folder)).code).toBe(0)
    expect(await readdir(folder)).toEqual(['all.yaml'])
    expect(await readdir(ROOT)).toEqual(before)
  })

  test('prints all of a report that no pipe holds before it exits', async () => {
    const plans = Array.from({ length: 4000 }, (_, at) => PLAN.replace('starter', `p${at}`).replace('{}', '{day: 3}'))
    await writeFile(join(folder, 'all.yaml'), plans.join('---\n'))
    const { code, out } = await run(process.execPath, [MAIN, 'check', folder])
    expect([code, out.split('\n').slice(-2)]).toEqual([1, ['1 file, 0 resources, 0 previews: 4000 faults', '']])
    expect(out.length).toBeGreaterThan(300_000)
  })

  test('finds fault with a folder without manifests', async () => {
    await mkdir(join(folder, 'empty'))
    const { code, out } = await platen('check', join(folder, 'empty'))
    expect([code, out]).toEqual([
      1,
      `${folder}/empty: the folder contains no *.yaml\n0 files, 0 resources, 0 previews: 1 fault\n`,
    ])
  })
})

describe('platen', () => {
  test.for([['--help'], ['-h'], ['help'], ['check', '--help'], ['preview', '-h']])(
    '%j says how to call it',
    async (args) => {
      const { code, out, err } = await platen(...args)
      expect({ code, err }).toEqual({ code: 0, err: '' })
      expect(out).toContain('usage: platen check <folder>')
    },
  )

  test.for([
    [],
    ['check'],
    ['check', 'a', 'b'],
    ['chekc', 'a'],
    ['check', 'a', '--fix'],
    ['check', 'a', '--watch'],
    ['preview', 'a'],
    ['preview', 'a', 'b', 'c'],
    ['preview', 'a', 'b', '--engine', 'pdf'],
    ['preview', 'a', 'b', '--data'],
  ])('%j is called wrongly', async (args) => {
    const { code, out, err } = await platen(...args)
    expect({ code, out }).toEqual({ code: 2, out: '' })
    expect(err).toContain('usage: platen check <folder>')
  })

  test.for([
    ['/nowhere/manifests', 'ENOENT'],
    [MAIN, 'ENOTDIR'],
  ] as const)('check %s names the folder that cannot be read', async ([path, reason]) => {
    const { code, out, err } = await run(process.execPath, [MAIN, 'check', path])
    expect({ code, out }).toEqual({ code: 2, out: '' })
    expect(err).toBe(`platen: the folder ${path} cannot be read (${reason})\n`)
  })
})
