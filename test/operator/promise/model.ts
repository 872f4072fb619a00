/** What is declared of a plan, its tenants, and their templates and keys; and what has to be in force by it. */

export interface LaneModel {
  readonly plan: PlanModel
  readonly tenants: readonly TenantModel[]
}

export interface PlanModel {
  readonly name: string
  isDeclared: boolean
  limits: PlanLimits
}

export interface PlanLimits {
  readonly hasHtml: boolean
  readonly asyncRate: number
}

export interface TenantModel {
  readonly name: string
  isDeclared: boolean
  /** Those its plan gave it last, be that there any more or not. Absent: there was none since it was declared, so it is not served. */
  limits: PlanLimits | undefined
  /** Does it list the namespace of its templates and keys? */
  isOpen: boolean
  suspendedReason: string | undefined
  /** Absent = that of the plan. */
  asyncRate: number | undefined
  readonly keys: readonly KeyModel[]
  readonly template: TemplateModel
}

export interface KeyModel {
  readonly name: string
  /** How long a key lives that was replaced, if the operator generates them; absent: they are given by their hash. */
  readonly overlapHours?: number
  isDeclared: boolean
  isSuspended: boolean
  /** Absent: there was none yet. */
  text: string | undefined
  /** The one before it, as long as its overlap lasts. */
  replaced: string | undefined
  /** The last one that opens nothing any more, whatever is declared. */
  ended: string | undefined
}

export interface TemplateModel {
  readonly name: string
  isDeclared: boolean
  isPublished: boolean
  /** What its schema asks for, another with each change. */
  tag: string
  /** It was removed, and nothing has been propagated since: processes may serve it still. */
  mayLinger: boolean
}

/** Nothing of it is declared. */
export function modelOf(lane: string): LaneModel {
  const tenants = ['a', 'b'].map((letter, at): TenantModel => {
    const name = `${lane}-${letter}`
    return {
      name,
      isDeclared: false,
      limits: undefined,
      isOpen: true,
      suspendedReason: undefined,
      asyncRate: undefined,
      // Of one tenant without an overlap, of the other with one that outlasts the test.
      keys: [aKey({ name: `${name}-brought` }), aKey({ name: `${name}-made`, overlapHours: at })],
      template: { name: `${name}-letter`, isDeclared: false, isPublished: true, tag: 'v0', mayLinger: false },
    }
  })
  return { plan: { name: lane, isDeclared: false, limits: { hasHtml: false, asyncRate: 0 } }, tenants }
}

function aKey(parts: Pick<KeyModel, 'name' | 'overlapHours'>): KeyModel {
  return { ...parts, isDeclared: false, isSuspended: false, text: undefined, replaced: undefined, ended: undefined }
}
