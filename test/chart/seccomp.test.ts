/** The seccomp profile of html renderers: what it lets Chromium's sandbox do beside what a container may anyway, and how nodes come by it. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { CHART, type KubeObject, ofKind, rendered } from './helm.ts'

interface Rule {
  readonly names: readonly string[]
  readonly action: string
  readonly errnoRet?: number
  readonly args?: readonly unknown[]
}

const text = readFileSync(join(CHART, 'file/chromium.json'), 'utf8')
const profile = JSON.parse(text) as { readonly defaultAction: string; readonly syscalls: readonly Rule[] }

const actionOf = (name: string) => {
  const rules = profile.syscalls.filter(({ names }) => names.includes(name))
  return rules.length === 0 ? profile.defaultAction : rules.map(({ action }) => action).join()
}

describe('the profile', () => {
  test('allows what makes user namespaces, and with them the sandbox', () => {
    expect(['clone', 'unshare', 'chroot'].map(actionOf)).toEqual(Array.from({ length: 3 }, () => 'SCMP_ACT_ALLOW'))
  })

  test('answers clone3 as a kernel without it, so that libraries take clone', () => {
    expect(profile.syscalls.filter(({ names }) => names.includes('clone3'))).toEqual([
      { names: ['clone3'], action: 'SCMP_ACT_ERRNO', errnoRet: 38 },
    ])
  })

  test('refuses what a namespace of its own would give powers for', () => {
    const refused = ['mount', 'umount2', 'pivot_root', 'setns', 'bpf', 'perf_event_open', 'userfaultfd', 'keyctl']
    const more = ['io_uring_setup', 'open_by_handle_at', 'init_module', 'kexec_load', 'reboot', 'swapon', 'sethostname']
    expect([...refused, ...more].filter((name) => actionOf(name) !== 'SCMP_ACT_ERRNO')).toEqual([])
  })

  test('names each call once, in order', () => {
    for (const { names } of profile.syscalls) expect(names).toEqual([...new Set(names)].sort())
  })
})

describe('its installer', () => {
  const values = { chromium: { profileInstaller: { enabled: true, kubeletDir: '/var/lib/other' } } }
  const installerOf = (objects: readonly KubeObject[]) => ofKind(objects, 'DaemonSet')

  test('puts it below the folder of the kubelet by the name that html renderers ask for', async () => {
    const objects = await rendered(values)
    const [{ spec }] = installerOf(objects) as [KubeObject]
    const { initContainers, volumes } = spec.template.spec
    const [{ command, volumeMounts }] = initContainers
    const target: string = command.at(-1)
    const { mountPath } = volumeMounts.find(({ name }: { name: string }) => name === 'seccomp')
    const { hostPath } = volumes.find(({ name }: { name: string }) => name === 'seccomp')
    expect(hostPath.path).toBe('/var/lib/other/seccomp')
    const html = ofKind(objects, 'Deployment').find(({ metadata }) => metadata.name.endsWith('renderer-html'))
    expect(html?.['spec'].template.spec.securityContext.seccompProfile).toEqual({
      type: 'Localhost',
      localhostProfile: target.slice(`${mountPath}/`.length),
    })
    const data = ofKind(objects, 'ConfigMap').find(({ metadata }) => metadata.name.endsWith('chromium-profile'))?.[
      'data'
    ]
    expect(JSON.parse(data['chromium.json'])).toEqual(profile)
  })

  test('has of the powers of root none but to own the folder', async () => {
    const [{ spec }] = installerOf(await rendered(values)) as [KubeObject]
    for (const { securityContext } of [...spec.template.spec.initContainers, ...spec.template.spec.containers])
      expect(securityContext).toEqual({
        allowPrivilegeEscalation: false,
        readOnlyRootFilesystem: true,
        capabilities: { drop: ['ALL'] },
      })
  })

  test('is there only where it is asked for', async () => {
    expect(installerOf(await rendered({}))).toEqual([])
  })
})
