/** Tests the chart on a real node: all pods start, both engines render, and Chromium runs in its sandbox. */
import { readFileSync, readlinkSync } from 'node:fs'
import { beforeAll, expect, test } from 'vitest'
import { CHART, type Values } from '../chart/helm.ts'
import { processes } from '../soak/process-tree.ts'
import { poll } from '../time/poll.ts'
import { inspectPdf } from '../topology/oracle.ts'
import { ended, render, submit } from '../topology/service.ts'
import { type Installed, installed } from './installed.ts'
import { BRIDGE } from './machine/address.ts'
import { imageOf } from './machine/image.ts'
import { kubectl, NAMESPACE, onRelease, RELEASE } from './release.ts'

let node: Installed['node']
let team: Installed['team']
beforeAll(async () => {
  ;({ node, team } = await installed())
})

test('every pod is ready in a namespace of the restricted profile', async () => {
  const path = `jsonpath={range .items[*]}{.metadata.labels['app\\.kubernetes\\.io/component']} {.status.containerStatuses[0].ready} {.status.containerStatuses[0].restartCount}{"\\n"}{end}`
  const pods = await kubectl(node, ['get', 'pods', '--namespace', NAMESPACE, `--output=${path}`])
  const always = pods
    .trim()
    .split('\n')
    .filter((line) => !line.includes('-async'))
  expect(always.sort()).toEqual(
    ['api', 'api', 'events', 'events', 'operator', 'operator', 'renderer-html-sync', 'renderer-react-pdf-sync'].map(
      (name) => `${name} true 0`,
    ),
  )
})

test.for(['react_pdf', 'html'])('a sync render by %s is a PDF of the invoice', async (engine) => {
  const { status, body } = await render(team.service, team.key, { template: 'invoice', engine, data: team.data })
  expect(status).toBe(200)
  const { text } = await inspectPdf(body)
  expect(text).toMatch(/Invoice/i)
})

test('an async render is made and kept', async () => {
  const id = await submit(team.service, team.key, { template: 'invoice', data: team.data })
  const { status, pdf_url: url } = await ended(team.service, team.key, id)
  expect(status).toBe('succeeded')
  await inspectPdf(new Uint8Array(await (await fetch(String(url))).arrayBuffer()))
})

test('pages of Chromium are in user and network namespaces of their own, under a seccomp filter and without rights', async () => {
  const mine = (kind: string) => readlinkSync(`/proc/self/ns/${kind}`)
  const chromium = processes().filter(({ command }) => command.includes('chromium-headless-shell'))
  const browser = chromium.find(({ command }) => !command.includes('--type='))
  const sandboxed = chromium.filter(({ command }) => /--type=(zygote|renderer)/.test(command))
  const inner = sandboxed.filter(({ command }) => !command.includes('--no-zygote-sandbox'))
  expect(inner).not.toEqual([])
  for (const { pid } of inner) {
    const of = (kind: string, who: number) => readlinkSync(`/proc/${who}/ns/${kind}`)
    expect(of('user', pid)).not.toBe(mine('user'))
    expect(of('net', pid)).not.toBe(of('net', browser?.pid ?? 0))
  }
  for (const { pid } of chromium) {
    const status = readFileSync(`/proc/${pid}/status`, 'utf8')
    expect(status).toMatch(/^Seccomp:\s+2$/m)
    expect(status).toMatch(/^NoNewPrivs:\s+1$/m)
    expect(status).toMatch(/^Uid:\s+10001\s/m)
  }
  expect(chromium.filter(({ command }) => /--no-sandbox\b/.test(command))).toEqual([])
})

test('Chromium does not start where the profile refuses what its sandbox takes', async () => {
  const pod = {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'refused', namespace: NAMESPACE },
    spec: {
      restartPolicy: 'Never',
      securityContext: { runAsNonRoot: true, runAsUser: 10_001, seccompProfile: { type: 'RuntimeDefault' } },
      containers: [
        {
          name: 'chromium',
          image: imageOf('platen-renderer'),
          imagePullPolicy: 'Never',
          command: ['/usr/lib/chromium/chromium-headless-shell', '--dump-dom', 'about:blank'],
          securityContext: { allowPrivilegeEscalation: false, capabilities: { drop: ['ALL'] } },
        },
      ],
    },
  }
  await kubectl(node, ['create', '--filename=-'], JSON.stringify(pod))
  const of = ['refused', '--namespace', NAMESPACE]
  const phase = await poll(() => kubectl(node, ['get', 'pod', ...of, '--output=jsonpath={.status.phase}'])).until(
    (text) => text === 'Failed' || text === 'Succeeded',
  )
  expect([phase, await kubectl(node, ['logs', ...of])]).toEqual([
    'Failed',
    expect.stringContaining('No usable sandbox'),
  ])
})

test('helm test renders a PDF by the key of a Secret', async () => {
  const secret = { apiVersion: 'v1', kind: 'Secret', metadata: { name: 'test-key', namespace: NAMESPACE } }
  await kubectl(node, ['create', '--filename=-'], JSON.stringify({ ...secret, stringData: { key: team.key } }))
  await onRelease(node, ['upgrade', RELEASE, CHART, '--wait'], { test: { secretName: 'test-key', data: team.data } })
  await onRelease(node, ['test', RELEASE])
  expect(await kubectl(node, ['logs', 'platen-test', '--namespace', NAMESPACE])).toMatch(/PDF/)
})

const SECOND = 'second'
const ofSecond = [
  '--namespace',
  NAMESPACE,
  `--selector=app.kubernetes.io/instance=${SECOND},app.kubernetes.io/component=api`,
]

test.for<[string, Values, readonly string[], RegExp]>([
  ['no Kafka', { kafka: { brokers: [`${BRIDGE}:1`] } }, ['logs', '--tail=1'], /Kafka/],
  [
    'no S3',
    { s3: { bucket: 'platen', endpoint: `http://${BRIDGE}:1`, secretName: 'platen-s3' } },
    ['logs', '--tail=1'],
    /S3/,
  ],
  ['no Secret', { secretName: 'missing' }, ['describe', 'pods'], /secret "missing" not found/],
  [
    'no image',
    { image: { registry: 'localhost', tag: 'missing', pullPolicy: 'Never' } },
    ['describe', 'pods'],
    /image "localhost\/platen-api:missing" is not present/,
  ],
])('a second release with %s has no pod that is ready, and says why', async ([, values, asked, says]) => {
  const second = { crds: { enabled: false }, operator: { enabled: false }, autoscaling: { kind: 'none' } }
  await onRelease(node, ['install', SECOND, CHART], { ...second, ...values })
  try {
    const said = await poll(() => kubectl(node, [...asked, ...ofSecond]).catch(String)).until((text) => says.test(text))
    process.stdout.write(
      `${said
        .trim()
        .split('\n')
        .findLast((line) => says.test(line))}\n`,
    )
    const ready = '--output=jsonpath={.items[*].status.conditions[?(@.type=="Ready")].status}'
    expect(await kubectl(node, ['get', 'pods', ...ofSecond, ready])).not.toContain('True')
  } finally {
    await onRelease(node, ['uninstall', SECOND, '--wait'])
  }
})
