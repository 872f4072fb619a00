/** Tests how the servers of the tests are found and built. Fast stand-ins replace the slow builders. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { text } from 'node:stream/consumers'
import { beforeEach, describe, expect, test } from 'vitest'
import { aFolder } from '../../fixture/lifetime.ts'
import { findBinary, SERVERS, type ServerName } from './binary.ts'
import { VERSIONS } from './version.ts'

let folder: string
beforeEach(() => {
  folder = aFolder()
})

test('a server is taken by its variable, else from PATH, else from the cache', async () => {
  const { command, variable, cached } = SERVERS.s3
  const environment = { PATH: join(folder, 'path'), XDG_CACHE_HOME: join(folder, 'cache') }
  const chosen: Readonly<Record<string, string>> = { ...environment, [variable]: join(folder, 'chosen') }
  expect(findBinary('s3', environment)).toBeUndefined()
  const inCache = await aCommand(join('cache', 'platen', 'servers', cached, command))
  expect(findBinary('s3', environment)).toStrictEqual({ path: inCache, from: 'cache' })
  const onPath = await aCommand(join('path', command))
  expect(findBinary('s3', environment)).toStrictEqual({ path: onPath, from: 'PATH' })
  expect(() => findBinary('s3', chosen)).toThrow(`${variable} is no file that can be run`)
  await aCommand('chosen')
  expect(findBinary('s3', chosen)).toStrictEqual({ path: chosen[variable], from: 'variable' })
})

describe('make servers', () => {
  const built = [SERVERS.kafka.cached, SERVERS.s3.cached].toSorted()

  test('builds what is missing once', async () => {
    await givenBuilders({ go: INSTALL })
    const first = await makeServers()
    expect(first).toMatchObject({ code: 0 })
    expect(first.output).toMatch(
      /redis: .*[(]variable[)]\nkafka: .*[(]installed in \d+ s[)]\ns3: .*[(]installed in \d+ s[)]\netcd: .*[(]variable[)]\n/,
    )
    await givenBuilders({ go: 'exit 1' })
    const second = await makeServers()
    expect(second).toMatchObject({ code: 0, output: expect.stringMatching(/s3: .*versitygw [(]cache[)]/) })
    expect(await cache()).toStrictEqual(built)
  })

  test('twice at once gives the same, once', async () => {
    // Neither build ends before both have started.
    const meet = `touch "${folder}/met-$$"; while [ "$(ls "${folder}" | grep -c met-)" -lt 2 ]; do sleep 0.05; done`
    await givenBuilders({ go: `${meet}; ${INSTALL}` })
    const both = await Promise.all([makeServers(), makeServers()])
    expect(both.map(({ code }) => code)).toStrictEqual([0, 0])
    expect(await cache()).toStrictEqual(built)
  })

  test('starts again where it was interrupted', async () => {
    await givenBuilders({ go: `${INSTALL}; kill -KILL $PPID; sleep 0.1` })
    expect(await makeServers()).toMatchObject({ code: null })
    expect(await cache()).toContainEqual(expect.stringMatching(/^\.building-/))
    expect(await cache()).not.toContain(SERVERS.s3.cached)
    await givenBuilders({ go: INSTALL })
    expect(await makeServers()).toMatchObject({ code: 0 })
    expect(await cache()).toStrictEqual(built)
  })

  test('builds the API server of its libraries as they are published', async () => {
    await givenBuilders({
      go: `case "$1" in mod) echo '${JSON.stringify(KUBERNETES)}' ;; build) ${BUILD} ;; *) ${INSTALL} ;; esac`,
    })
    const { code, output } = await makeServers({ without: 'kube-apiserver' })
    expect({ code, output }).toMatchObject({
      code: 0,
      output: expect.stringMatching(/kube-apiserver: .*[(]installed in/),
    })
    const module = await readFile(
      join(folder, 'cache/platen/servers', SERVERS['kube-apiserver'].cached, 'go.mod'),
      'utf8',
    )
    const published = `v0.${VERSIONS.kubernetes.split('.').slice(1).join('.')}`
    expect(module.split('\n').slice(2)).toStrictEqual([
      `require k8s.io/kubernetes v${VERSIONS.kubernetes}`,
      `replace k8s.io/api => k8s.io/api ${published}`,
      `replace k8s.io/kms => k8s.io/kms ${published}`,
      '',
    ])
  })

  test('takes of the modules of others the definitions of their kinds, and nothing else', async () => {
    const names = ['keda', 'gateway-api', 'prometheus-operator']
    for (const name of names)
      for (const [place, files] of Object.entries(PUBLISHED))
        for (const file of files) await aCommand(join('published', name, place, `${file}.yaml`), `# ${name}`)
    const published = names.map((name) => `*/${name}*) n=${name} ;;`).join(' ')
    const download = `case "$4" in ${published} esac; printf '{"Dir":"%s"}' "${folder}/published/$n"`
    await givenBuilders({ go: `case "$1" in mod) ${download} ;; *) ${INSTALL} ;; esac` })
    expect(await makeServers({ without: 'foreign-crds' })).toMatchObject({ code: 0 })
    const { cached, command } = SERVERS['foreign-crds']
    const copied = await readdir(join(folder, 'cache/platen/servers', cached, command))
    expect(copied.toSorted()).toStrictEqual(
      Object.values(PUBLISHED)
        .flat()
        .filter((file) => !file.includes('jobs'))
        .map((file) => `${file}.yaml`)
        .toSorted(),
    )
  })

  test('fails when a build does, keeps none of it, and says which', async () => {
    await givenBuilders({ go: `${INSTALL}; exit 7` })
    const { code, output } = await makeServers()
    expect({ code, output }).toMatchObject({ code: 1, output: expect.stringContaining('s3: missing; go ended with 7') })
    expect(await cache()).toStrictEqual([SERVERS.kafka.cached])
  })
})

/** The servers each of these tests builds. All others are present. */
const BUILT: readonly ServerName[] = ['kafka', 's3']

const INSTALL = `printf '#!/bin/sh\\n' > "$GOBIN/${SERVERS.s3.command}"; chmod +x "$GOBIN/${SERVERS.s3.command}"`

/** Writes the command that `-o` names. */
const BUILD = `while [ "$1" != -o ]; do shift; done; printf '#!/bin/sh\n' > "$2"; chmod +x "$2"`

/** The definitions in their modules, and one more that is not needed. */
const PUBLISHED = {
  'config/crd/bases': ['keda.sh_scaledjobs', 'keda.sh_scaledobjects', 'keda.sh_triggerauthentications'],
  'config/crd/standard': ['gateway.networking.k8s.io_httproutes'],
  'example/prometheus-operator-crd': [
    'monitoring.coreos.com_podmonitors',
    'monitoring.coreos.com_prometheusrules',
    'monitoring.coreos.com_servicemonitors',
  ],
}

/** What `go` prints about the module: the path of its go.mod, and its content. */
const KUBERNETES = {
  GoMod: 'kubernetes.mod',
  Require: [
    { Path: 'k8s.io/api', Version: 'v0.0.0' },
    { Path: 'k8s.io/klog/v2', Version: 'v2.130.1' },
    { Path: 'k8s.io/kms', Version: 'v0.0.0' },
  ],
}

async function aCommand(path: string, script = 'exit 0'): Promise<string> {
  const file = join(folder, path)
  await mkdir(dirname(file), { recursive: true })
  await writeFile(file, `#!/bin/sh\n${script}\n`, { mode: 0o755 })
  return file
}

async function givenBuilders({ go }: { go: string }): Promise<void> {
  await aCommand('bin/go', go)
  await aCommand('bin/mvn')
  await aCommand('bin/java')
  await aCommand('present')
}

/** Runs the installer. All servers that the test is not about are present. */
async function makeServers({ without }: { without?: ServerName } = {}): Promise<{ code: unknown; output: string }> {
  const absent: readonly string[] = without === undefined ? BUILT : [...BUILT, without]
  const present = Object.entries(SERVERS).filter(([name]) => !absent.includes(name))
  const child = spawn(process.execPath, [join(import.meta.dirname, 'install.ts')], {
    env: {
      PATH: `${join(folder, 'bin')}:/usr/bin:/bin`,
      XDG_CACHE_HOME: join(folder, 'cache'),
      ...Object.fromEntries(present.map(([, { variable }]) => [variable, join(folder, 'present')])),
    },
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  const [output, [code]] = await Promise.all([text(child.stdout), once(child, 'exit')])
  return { code, output }
}

async function cache(): Promise<readonly string[]> {
  return (await readdir(join(folder, 'cache', 'platen', 'servers'))).sort()
}
