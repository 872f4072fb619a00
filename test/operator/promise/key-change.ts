/** A key that is suspended, removed, declared again, and rotated where the operator makes it. */
import { readSecret } from '../rig/secret.ts'
import { keyReference, keySpec, keyText, secretPlace } from './declaration.ts'
import type { KeyModel, TenantModel } from './model.ts'
import { type Change, removeUntilGone, type Scene } from './scene.ts'

export interface TenantKey {
  readonly tenant: TenantModel
  readonly key: KeyModel
}

/** All of a tenant that is served. */
export function keyChanges(scene: Scene, { tenant, key }: TenantKey): readonly Change[] {
  if (!key.isDeclared) return [declareKey(scene, { tenant, key })]
  const changes = [suspendKey(scene, key), removeKey(scene, key)]
  return key.overlapHours === undefined ? changes : [...changes, rotateKey(scene, key), rotateKey(scene, key)]
}

export function declareKey({ resources, rig, nextTag }: Scene, { tenant, key }: TenantKey): Change {
  const reference = keyReference(key)
  const isMade = key.overlapHours !== undefined
  return {
    what: isMade ? 'key to be made declared' : 'key declared',
    name: key.name,
    async make(signal) {
      Object.assign(key, { isDeclared: true, isSuspended: false, ended: key.text, replaced: undefined })
      if (!isMade) key.text = keyText(`${key.name} ${nextTag()}`)
      const written = await resources.create(reference, keySpec(tenant, key))
      await resources.untilPropagated(reference, written, signal)
      if (isMade) key.text = await keyMade(rig, key)
    },
  }
}

function suspendKey({ resources }: Scene, key: KeyModel): Change {
  const isSuspended = !key.isSuspended
  return {
    what: isSuspended ? 'key suspended' : 'key resumed',
    name: key.name,
    async make(signal) {
      key.isSuspended = isSuspended
      const written = await resources.patch(keyReference(key), { suspend: isSuspended })
      await resources.untilPropagated(keyReference(key), written, signal)
    },
  }
}

function removeKey(scene: Scene, key: KeyModel): Change {
  return {
    what: 'key removed',
    name: key.name,
    make(signal) {
      key.isDeclared = false
      return removeUntilGone(scene, keyReference(key), signal)
    },
  }
}

function rotateKey({ resources, rig, nextTime }: Scene, key: KeyModel): Change {
  const reference = keyReference(key)
  const hasOverlap = (key.overlapHours ?? 0) > 0
  return {
    what: hasOverlap ? 'key rotated with an overlap' : 'key rotated',
    name: key.name,
    async make(signal) {
      const at = nextTime()
      const written = await resources.rotate(reference, at)
      // An annotation makes no generation, so that this is told first.
      await resources.untilStatus(reference, ({ rotation }) => rotation === at, signal)
      await resources.untilPropagated(reference, written, signal)
      const { text: before, replaced } = key
      key.text = await keyMade(rig, key)
      // Of two that were replaced, only the last one has an overlap.
      if (hasOverlap) Object.assign(key, { replaced: before, ended: replaced ?? key.ended })
      else key.ended = before
    },
  }
}

async function keyMade({ kube }: Scene['rig'], model: KeyModel): Promise<string> {
  const { key } = await readSecret(kube, secretPlace(model))
  if (key === undefined) throw new Error(`the Secret of ApiKey ${model.name} has no key`)
  return key
}
