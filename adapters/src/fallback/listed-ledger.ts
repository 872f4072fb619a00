/**
 * A render ledger that also keeps the list of renders, for a list that is a view. Each change is put into the list once, and no render
 * waits for the list: the ends that it misses are read from the event log.
 */

import { logFieldsOf } from '@platen/contract/domain/log-fields.ts'
import { expiryOf, type RenderEnd, type RenderRecord } from '@platen/contract/domain/render.ts'
import { listedEnded, listedOpen } from '@platen/contract/port/listed-render.ts'
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
    const listed = list.put(record, listedOpen(record, status), signal)
    await ignoreUnavailable(listed, { log, fields: logFieldsOf(record) })
  }
  const close = async (end: RenderEnd, signal: AbortSignal) => {
    await ignoreUnavailable(listEnd(list, end, signal), { log, fields: logFieldsOf(end.render) })
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
    async complete(end, signal) {
      await Promise.all([ledger.complete(end, signal), close(end, signal)])
    },
  }
}

async function listEnd(
  list: ListedLedgerOptions['list'],
  { kind, render, outcome }: RenderEnd,
  signal: AbortSignal,
): Promise<void> {
  switch (kind) {
    case 'ended':
    case 'removed':
      return await list.put(render, listedEnded({ render, outcome }), signal)
    case 'canceled': {
      const { finishedAt } = outcome
      const ended = { id: render.id, finishedAt, expiresAt: expiryOf(render, finishedAt) }
      return await list.cancel(render, ended, signal)
    }
    case 'abandoned':
      return await list.remove(render, render.id, signal)
    case 'erased':
    // Whoever erases a render takes it out of the list.
  }
}
