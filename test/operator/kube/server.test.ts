/** Tests that a Kubernetes API starts, serves, keeps its data, and leaves nothing behind. It is built while other tests run. */
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type KubeServer, startKube } from '../../topology/server/kube.ts'

// Shared by the two tests that need no server of their own, because it takes seconds to start.
let kube: KubeServer
beforeAll(async () => {
  kube = await startKube({ personas: [{ name: 'alice', groups: ['team-acme'] }] })
})
afterAll(() => kube[Symbol.asyncDispose]())

test('knows whom it was told of, and lets them do what they may', async () => {
  const user = await kube.kubectl(['auth', 'whoami', '--output=jsonpath={.status.userInfo}'], { as: 'alice' })
  expect(JSON.parse(user.stdout)).toMatchObject({ username: 'alice', groups: ['team-acme', 'system:authenticated'] })
  const refused = await kube.kubectl(['get', 'secrets'], { as: 'alice' })
  expect(refused).toMatchObject({ code: 1, stderr: expect.stringContaining('User "alice" cannot list') })
  expect(await kube.request({ path: '/api/v1/secrets', as: 'alice' })).toMatchObject({ status: 403 })
  expect(await kube.request({ path: '/api/v1/secrets' })).toMatchObject({ status: 200, body: { kind: 'SecretList' } })
  await expect(kube.kubectl([], { as: 'mallory' })).rejects.toThrow('was not told of mallory')
})

test('answers 410 when what it is asked of is forgotten', async () => {
  await using kube = await startKube({ flags: ['--watch-cache=false'] })
  const path = '/api/v1/namespaces/default/configmaps'
  const add = (name: string) => kube.request({ method: 'POST', path, body: { metadata: { name } } })
  await add('one')
  await add('two')
  const { body } = await kube.request({ path: `${path}?limit=1` })
  const { continue: rest = '', resourceVersion = '' } = { ...Object(body['metadata']) }
  // Compaction keeps the last revision.
  await add('three')
  await add('four')
  await kube.etcd.compact()
  const listed = await kube.request({ path: `${path}?limit=1&continue=${encodeURIComponent(rest)}` })
  expect(listed).toMatchObject({ status: 410, body: { reason: 'Expired' } })
  const watched = await kube.request({
    path: `${path}?watch=true&timeoutSeconds=5&resourceVersion=${resourceVersion}`,
  })
  expect(watched).toMatchObject({ status: 200, body: { type: 'ERROR', object: { code: 410 } } })
})

test('serves what is defined as soon as it is applied, and has it when it starts again after a kill', async () => {
  const file = join(kube.folder, 'press.yaml')
  await writeFile(file, PRESS)
  await kube.apply([file])
  const { code } = await kube.kubectl(['create', '--filename=-'], {
    stdin: 'apiVersion: example.test/v1\nkind: Press\nmetadata: {name: one}',
  })
  expect(code).toBe(0)
  await kube.kill()
  await expect(kube.request({ path: '/readyz' })).rejects.toThrow('ECONNREFUSED')
  await kube.start()
  const { stdout } = await kube.kubectl(['get', 'presses', '--output=name'])
  expect(stdout).toBe('press.example.test/one\n')
  await writeFile(file, PRESS.replace('Cluster', 'Nowhere'))
  await expect(kube.apply([file])).rejects.toThrow('spec.scope')
})

const PRESS = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: presses.example.test}
spec:
  group: example.test
  scope: Cluster
  names: {kind: Press, plural: presses}
  versions:
  - name: v1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object}}
`
