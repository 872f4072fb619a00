/** Made from `crds/erasure.yaml` by `npx vitest run test/crd.test.ts -u`; do not edit. */
import type { StatusCondition } from './plan.ts'

/** The renders to erase. Cannot be changed. */
export interface ErasureSpec {
  /** The tenant whose renders are erased. The tenant must list the namespace of this resource, unless that is the namespace of the operator. */
  readonly tenantRef: {
    /** Name of the Tenant. */
    readonly name: string
  }
  /** Ids of the renders to erase, each a render_id. Those of other tenants are left alone. Set either renders or allRenders. */
  readonly renders?: readonly string[]
  /** True erases all renders that the tenant had accepted before this resource was created. Set either renders or allRenders. */
  readonly allRenders?: boolean
  /** Seconds after which this resource is deleted once everything is erased. If absent, it stays until somebody deletes it. */
  readonly ttlSecondsAfterFinished?: number
}

/** State of this erasure, written by the operator. */
export interface ErasureStatus {
  /** The generation of the spec that this status describes. It is -1 until the operator has seen the resource. */
  readonly observedGeneration?: number
  /** The account of the tenant when the erasure was ordered. Renders of another account are left alone, also if its tenant has the same name. */
  readonly accountId?: string
  /** Time at which the operator ordered the erasure from the events processes. */
  readonly orderedAt?: string
  /** Time of the last complete round. Every render that had ended by then is erased. */
  readonly workedOffAt?: string
  /** Number of renders that are erased. */
  readonly erased?: number
  /** Number of listed renders that are not of this tenant, or of which nothing is kept. */
  readonly notFound?: number
  /** Number of listed renders that may still wait or run. They are erased when they have ended. An id that nobody issued counts as one for eight days. */
  readonly unfinished?: number
  /** Topics of Kafka that may still have requests or events of these renders, which nobody can remove one by one. None has anything of requests that were accepted with requestData Stored. */
  readonly kafka?: readonly {
    /** Name of the topic, without the prefix of the installation. */
    readonly topic: string
    /** Time until which the topic may have them, with the retention that it is created with. */
    readonly until: string
  }[]
  /** Conditions of the resource. These are Ready, which is True when everything is erased, and Reconciling until then. */
  readonly conditions?: readonly StatusCondition[]
}
