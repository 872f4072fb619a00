/** The parts of an events process: a dispatcher, batches, retention and projections. Each runs from its start until it is closed. */
import type { RenderEvent } from '@platen/contract/domain/event.ts'
import type { Log } from '@platen/lib/log.ts'
import type { SealKeys } from '@platen/lib/seal.ts'
import { type BatchPorts, openBatchKeeper } from './batch/keeper.ts'
import { type ProjectionPorts, runProjection } from './charge/projection.ts'
import { type ListPorts, runListProjection } from './list/projection.ts'
import { type RetentionPorts, runRetention } from './retention/retention.ts'
import { type DispatcherPorts, type DispatcherSettings, runDispatcher } from './webhook/dispatcher.ts'
import { openSigningSecrets, type SealCounts, sealCounter, sealKeyCheck } from './webhook/signing-secrets.ts'

interface WebhooksOptions {
  readonly ports: DispatcherPorts
  readonly settings: Omit<DispatcherSettings, 'signingSecretsOf'>
  readonly sealKeys: () => SealKeys
}

/** Closing waits for the running calls. */
export interface Webhooks extends Running {
  /** Call it after the settings with the signing secrets have been read. */
  begin(): void
  /** False when the seal keys open no tenant's webhook secret: they are wrong. */
  canSign(): boolean
  readonly sealedWith: () => SealCounts
}

/** Deliveries wait until `begin`. */
export function openWebhooks({ ports, settings, sealKeys }: WebhooksOptions): Webhooks {
  const signing = { ...settings, signingSecretsOf: openSigningSecrets(sealKeys, ports.log) }
  let running: Running | undefined
  return {
    begin() {
      running = inBackground((signal) => runDispatcher(ports, signing, signal), ports.log, 'webhook dispatcher')
    },
    canSign: sealKeyCheck(sealKeys, ports),
    sealedWith: sealCounter(sealKeys, ports.directory),
    isAlive: () => running?.isAlive() ?? true,
    [Symbol.asyncDispose]: async () => await running?.[Symbol.asyncDispose](),
  }
}

export interface Batches extends Running {
  readonly onEvent: (event: RenderEvent) => void
}

/** After it is closed, another process continues. */
export function openBatches(ports: BatchPorts): Batches {
  const keeper = openBatchKeeper(ports)
  const running = inBackground((signal) => keeper.run(signal), ports.log, 'batches')
  return {
    ...running,
    onEvent({ manifest: { render } }) {
      const { batch: id, account } = render
      if (id !== undefined) keeper.touch({ id, account })
    },
  }
}

/** Closing waits for the running step. */
export function openRetention(ports: RetentionPorts): Running {
  return inBackground((signal) => runRetention(ports, signal), ports.log, 'retention')
}

/** After it is closed, another process continues. */
export function openProjection(ports: ProjectionPorts): Running {
  return inBackground((signal) => runProjection(ports, signal), ports.log, 'projection')
}

/** After it is closed, another process continues. */
export function openListProjection(ports: ListPorts): Running {
  return inBackground((signal) => runListProjection(ports, signal), ports.log, 'list of renders')
}

export interface Running extends AsyncDisposable {
  /** False after a defect has ended it. */
  isAlive(): boolean
}

function inBackground(run: (signal: AbortSignal) => Promise<void>, log: Log, task: string): Running {
  const stopping = new AbortController()
  let isAlive = true
  const ended = run(stopping.signal).catch((err: unknown) => {
    isAlive = false
    log.error({ task, err }, 'background task failed')
  })
  return {
    isAlive: () => isAlive,
    async [Symbol.asyncDispose]() {
      stopping.abort()
      await ended
    },
  }
}
