import type { TrafficLimits } from '@platen/contract/domain/limit.ts'
import type { KeyRing } from '@platen/contract/domain/render-id.ts'
import type { Engine } from '@platen/contract/domain/render-options.ts'
import type { WebhookPolicy } from '@platen/contract/domain/webhook-url.ts'
import type { ApiMeter } from '@platen/contract/port/api-meter.ts'
import type { ArtifactStore } from '@platen/contract/port/artifact-store.ts'
import type { DeliveryList } from '@platen/contract/port/delivery-list.ts'
import type { DeliveryLog } from '@platen/contract/port/delivery-log.ts'
import type { Directory } from '@platen/contract/port/directory.ts'
import type { Limiter } from '@platen/contract/port/limiter.ts'
import type { RenderEnds } from '@platen/contract/port/render-ends.ts'
import type { RenderLedger } from '@platen/contract/port/render-ledger.ts'
import type { RenderList } from '@platen/contract/port/render-list.ts'
import type { RenderQueue } from '@platen/contract/port/render-queue.ts'
import type { ReplyChannel } from '@platen/contract/port/reply-channel.ts'
import type { Instant } from '@platen/lib/brand.ts'
import type { Clock } from '@platen/lib/clock.ts'
import type { Ids } from '@platen/lib/ids.ts'
import type { Log } from '@platen/lib/log.ts'
import type { Tracer } from '@platen/lib/tracer.ts'
import type { BodyChecks } from './body/check/body-checks.ts'

/** `missing`: this installation does not have the engine, so waiting does not help. */
export type EngineStatus = 'available' | 'unavailable' | 'missing'

export interface ApiPorts {
  readonly directory: Directory
  readonly limiter: Limiter
  readonly queue: RenderQueue
  readonly ledger: RenderLedger
  readonly ends: RenderEnds
  readonly list: RenderList
  readonly artifacts: ArtifactStore
  readonly replies: ReplyChannel
  readonly deliveries: Pick<DeliveryLog, 'schedule' | 'find' | 'listByRender' | 'redeliver'>
  readonly deliveryList: DeliveryList
  readonly checks: Omit<BodyChecks, keyof AsyncDisposable>
  readonly clock: Clock
  readonly ids: Ids
  readonly keys: () => KeyRing
  readonly log: Log
  readonly meter: ApiMeter
  readonly tracer: Tracer
  engineStatus(engine: Engine): EngineStatus
  /** Whether requests may be sent here. `detail` is shown to anybody who asks, so it contains no secret. */
  isReady(): Readiness
  /** Whether this process should be kept. Looks at nothing outside the process. */
  isAlive(): boolean
  readonly settings: ApiSettings
}

export interface Readiness {
  readonly ready: boolean
  readonly detail: object
}

export interface ApiSettings {
  /** One lower-case word: `service` gives `X-Service-…` headers and `service_live_…` keys. */
  readonly brand: string
  readonly serviceBucket: string
  /** Present if there is no other API process, and was none since then: older requests died with their process. */
  readonly aloneSince?: Instant
  readonly webhooks: WebhookPolicy
  readonly traffic: TrafficLimits
}
