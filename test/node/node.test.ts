/** The images and the chart on a real node: what is installed comes up, renders by both engines, and Chromium runs in its sandbox. */
import { existsSync, readFileSync, readlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { beforeAll, describe, expect, test } from 'vitest'
import { processes } from '../soak/process-tree.ts'
import { until } from '../time/until.ts'
import { inspectPdf } from '../topology/oracle.ts'
import { ended, render, submit } from '../topology/service.ts'
import { archiveOf, IMAGES, imageOf, megabytes, PAUSE, sizeOf, userOf, withImage } from './machine/image.ts'
import { type KubeNode, startNode } from './machine/node.ts'
import { installProfile, installRelease, kubectl, NAMESPACE, SMALL } from './release.ts'
import { declareTeam, TEAM, type Team } from './resource.ts'

/** Uncompressed. */
const MEGABYTES_MAX = { 'platen-renderer': 750, platen: 750 } as const
const OTHERS_MEGABYTES_MAX = 320

describe.for(IMAGES)('the image %s', (name) => {
  test('is no larger than it need be', () => {
    const size = megabytes(sizeOf(imageOf(name)))
    process.stdout.write(`${name}: ${size} MB\n`)
    expect(size).toBeLessThanOrEqual(name in MEGABYTES_MAX ? MEGABYTES_MAX['platen'] : OTHERS_MEGABYTES_MAX)
  })

  test('is of a user without rights, and has no npm and no tools to build with', () => {
    expect(userOf(imageOf(name))).toBe('10001:10001')
    const tools = ['npm', 'npx', 'yarn', 'corepack', 'gcc', 'cc', 'make', 'python3', 'git']
    const found = withImage(imageOf(name), (root) =>
      ['usr/local/bin', 'usr/bin', 'usr/local/lib/node_modules'].flatMap((folder) =>
        tools.filter((tool) => existsSync(join(root, folder, tool))),
      ),
    )
    expect(found).toEqual([])
  })
})

describe('on a node', () => {
  let node: KubeNode
  let team: Team
  beforeAll(async () => {
    const deployed = IMAGES.filter((name) => name !== 'platen').map(imageOf)
    node = await startNode([PAUSE, ...deployed].map((name) => archiveOf(name, tmpdir())))
    installProfile(node)
    await kubectl(node, ['create', 'namespace', TEAM])
    await installRelease(node, { ...SMALL, operator: { ...SMALL.operator, grantSecretsIn: [TEAM] } })
    team = await declareTeam(node)
  })

  test('every pod is ready in a namespace of the restricted profile', async () => {
    const path = `jsonpath={range .items[*]}{.metadata.labels['app\\.kubernetes\\.io/component']} {.status.containerStatuses[0].ready} {.status.containerStatuses[0].restartCount}{"\\n"}{end}`
    const pods = await kubectl(node, ['get', 'pods', '--namespace', NAMESPACE, `--output=${path}`])
    expect(pods.trim().split('\n').sort()).toEqual(
      ['api', 'operator', 'renderer-html', 'renderer-react-pdf', 'webhooks'].map((name) => `${name} true 0`),
    )
  })

  test.for(['react_pdf', 'html'])('a sync render by %s is a PDF of the invoice', async (engine) => {
    const { status, body } = await render(team.service, team.key, { template: 'invoice', engine, data: team.data })
    expect(status).toBe(200)
    const { pages, text } = await inspectPdf(body)
    expect(pages).toBe(1)
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
    const phase = await until(
      () => kubectl(node, ['get', 'pod', ...of, '--output=jsonpath={.status.phase}']),
      (text) => text === 'Failed' || text === 'Succeeded',
    )
    expect([phase, await kubectl(node, ['logs', ...of])]).toEqual([
      'Failed',
      expect.stringContaining('No usable sandbox'),
    ])
  })
})
