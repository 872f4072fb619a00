import { resourceReader } from '@platen/contract/schema/resource/reader.ts'
import { describe, expect, test } from 'vitest'
import { seededIds } from '../../../test/fixture/memory/ids.ts'
import { type Identities, identify } from './identity.ts'
import { parseManifests } from './text/parse.ts'

const ids = seededIds('identity')
const read = resourceReader()

function look(names: readonly string[], known: Identities, { isComplete = true, spec = '{}', now = 0 } = {}) {
  const text = names.map(
    (name) => `apiVersion: platen.dev/v1alpha1\nkind: Plan\nmetadata: {name: ${name}}\nspec: ${spec}\n`,
  )
  const { documents } = parseManifests({ text: text.join('---\n'), file: 'all.yaml', read })
  return identify({ documents, known, isComplete, now }, ids)
}

describe('an identity', () => {
  const first = look(['one', 'two'], {}, { now: 5 })

  test('is given at first sight, to each another', () => {
    const [one, two] = first.resources.map(({ metadata }) => metadata)
    expect(one).toMatchObject({
      name: 'one',
      uid: expect.stringMatching(/^[0-9a-f]{32}$/),
      generation: 1,
      createdAt: 5,
    })
    expect(two?.uid).not.toBe(one?.uid)
  })

  test('stays while nothing changes, and nothing has to be written', () => {
    const again = look(['two', 'one'], first.identities, { now: 9 })
    expect(again.identities).toBe(first.identities)
    expect(again.resources.map(({ metadata }) => metadata.uid).sort()).toEqual(
      first.resources.map(({ metadata }) => metadata.uid).sort(),
    )
  })

  test('counts the changes of the spec', () => {
    const changed = look(['one', 'two'], first.identities, { spec: '{retentionDays: 3}', now: 9 })
    expect(changed.resources[0]?.metadata).toEqual({ ...first.resources[0]?.metadata, generation: 2 })
  })

  test('ends with its resource: created again it is another', () => {
    const gone = look(['two'], first.identities)
    expect(Object.keys(gone.identities)).toEqual(['Plan two'])
    expect(look(['one', 'two'], gone.identities).resources[0]?.metadata.uid).not.toBe(first.resources[0]?.metadata.uid)
  })

  test('has a rotation that is asked for together with a tenant behind it', () => {
    const text = (time: string) =>
      `apiVersion: platen.dev/v1alpha1\nkind: Tenant\nmetadata: {name: acme, annotations: {platen.dev/rotate-webhook-secret: "${time}"}}\nspec: {planRef: {name: starter}}\n`
    const identified = (time: string, known: Identities) => {
      const { documents } = parseManifests({ text: text(time), file: 'all.yaml', read })
      return identify({ documents, known, isComplete: true, now: 5 }, ids)
    }
    const { resources, identities } = identified('1970-01-01T00:00:01Z', {})
    expect(resources[0]?.metadata).toMatchObject({ generation: 1, rotateWebhookSecretAt: 1000 })
    expect(identities['Tenant acme']).toMatchObject({ rotations: [1000] })
    const later = identified('1970-01-01T00:00:02+00:00', identities)
    expect(later.resources[0]?.metadata).toMatchObject({ generation: 1, rotateWebhookSecretAt: 2000 })
    expect(later.identities).toBe(identities)
  })

  test('outlives a folder that could not be read whole', () => {
    const broken = look(['two'], first.identities, { isComplete: false })
    expect(look(['one', 'two'], broken.identities).resources[0]?.metadata.uid).toBe(first.resources[0]?.metadata.uid)
  })
})

describe('the account of a tenant', () => {
  const tenant = (spec: string, known: Identities) => {
    const text = `apiVersion: platen.dev/v1alpha1\nkind: Tenant\nmetadata: {name: acme}\nspec: {planRef: {name: free}${spec}}\n`
    const { documents } = parseManifests({ text, file: 'all.yaml', read })
    const { resources, identities } = identify({ documents, known, isComplete: true, now: 0 }, ids)
    const [resource] = resources
    return { metadata: resource?.kind === 'Tenant' ? resource.metadata : undefined, identities }
  }

  test('is its uid, also when the manifest declares another later', () => {
    const first = tenant('', {})
    expect(first.metadata?.account).toBe(first.metadata?.uid)
    expect(tenant(', accountId: late', first.identities).metadata?.account).toBe(first.metadata?.uid)
  })

  test('is what it declares at first sight, in every data folder', () => {
    const [first, another] = [tenant(', accountId: a-1', {}), tenant(', accountId: a-1', {})]
    expect(first.metadata?.account).toBe('a-1')
    expect(another.metadata?.account).toBe('a-1')
    expect(another.metadata?.uid).not.toBe(first.metadata?.uid)
    expect(tenant('', first.identities).metadata?.account).toBe('a-1')
  })
})
