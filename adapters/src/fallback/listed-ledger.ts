/**
 * A render ledger that also keeps the list of renders, for a list that is a view. Each change is put into the list once, and no render
 * waits for the list: the ends that it misses are read from the event log.
 */

import { logFieldsOf } from '@platen/contract/domain/log-fields.ts'
import { isAbandoned, type Manifest, type RenderRecord } from '@platen/contract/domain/render.ts'
import { listedEnded, listedOpen, scopeOfRender } from '@platen/contract/port/listed-render.ts'
import type { RenderLedger } from '@platen/contract/port/render-ledger.ts'
import type { RenderListView } from '@platen/contract/port/render-list.ts'
import type { Log } from '@platen/lib/log.ts'
import { ignoreUnavailable } from './ignore-unavailable.ts'

interface ListedLedgerOptions {
  readonly list: Pick<RenderListView, 'put' | 'cancel' | 'remove'>
  readonly log: Log
}

/** The ledger, which also tells the list of each render that is accepted, begins or ends. Renders of the mode `sync` only when they end. */
export function listedRenderLedger<Ledger extends RenderLedger>(
  ledger: Ledger,
  { list, log }: ListedLedgerOptions,
): Ledger {
  const open = async (record: RenderRecord, status: 'queued' | 'running', signal: AbortSignal) => {
    if (record.mode === 'sync') return
    const listed = list.put(scopeOfRender(record), listedOpen(record, status), signal)
    await ignoreUnavailable(listed, { log, fields: logFieldsOf(record) })
  }
  const end = async (manifest: Manifest, signal: AbortSignal) => {
    await ignoreUnavailable(listEnd(list, manifest, signal), { log, fields: logFieldsOf(manifest.render) })
  }
  return {
    ...ledger,
    async markQueued(record, signal) {
      await Promise.all([ledger.markQueued(record, signal), open(record, 'queued', signal)])
    },
    async claim(record, lease, signal) {
      const answer = await ledger.claim(record, lease, signal)
      if (answer.kind === 'granted') await open(record, 'running', signal)
      return answer
    },
    async complete(manifest, signal) {
      await Promise.all([ledger.complete(manifest, signal), end(manifest, signal)])
    },
  }
}

function listEnd(list: ListedLedgerOptions['list'], manifest: Manifest, signal: AbortSignal): Promise<void> {
  const { render, outcome, canceledAt } = manifest
  const scope = scopeOfRender(render)
  if (isAbandoned(manifest)) return list.remove(scope, render.id, signal)
  const ended = listedEnded(manifest)
  if (canceledAt === undefined) return list.put(scope, ended, signal)
  const { id, expiresAt } = ended
  return list.cancel(scope, { id, finishedAt: outcome.finishedAt, expiresAt }, signal)
}
