/**
 * The only path from resources to Redis. Changes that arrive while a revision is being published are compiled and published together as the
 * next revision. So a change waits for at most two calls, and ten thousand changes need few calls.
 */

import type { Uid } from '@platen/contract/domain/resource.ts'
import type { DirectoryPublisher } from '@platen/contract/port/directory.ts'
import type { OperatorMeter } from '@platen/contract/port/operator-meter.ts'
import type { Instant } from '@platen/lib/brand.ts'
import type { Clock } from '@platen/lib/clock.ts'
import { type Notifier, openNotifier } from '@platen/lib/notifier.ts'
import { raceFirst } from '@platen/lib/race.ts'
import { Unavailable } from '@platen/lib/unavailable.ts'
import type { Compilation, ResourceChange } from '@platen/settings/compilation/compilation.ts'
import { publishSettings } from '@platen/settings/publish/publish-settings.ts'
import { PUBLISH_RETRY_MS } from './limit.ts'

const SECOND_MS = 1000
/** Longest wait of the publication before it checks the clock again. A timer cannot be longer than 24 days. */
const PUBLICATION_IDLE_MS_MAX = 3600 * SECOND_MS

export interface PublicationOptions {
  readonly compilation: Compilation
  readonly publisher: DirectoryPublisher
  /** Called with the other resources whose results a change has altered. */
  readonly onChanged: (uids: ReadonlySet<Uid>) => void
  readonly meter: Pick<OperatorMeter, 'published'>
  readonly clock: Clock
}

export interface InForceSince {
  readonly revision: number
  readonly at: Instant
}

const ENDED = 'the publisher has stopped'

interface Submission {
  readonly change: ResourceChange
  readonly published: PromiseWithResolvers<InForceSince>
}

export class Publication {
  readonly #options: PublicationOptions
  readonly #submitted: Notifier = openNotifier()
  #waiting: Submission[] = []
  #hasEnded = false
  /** Resources whose settings are compiled but not published. */
  readonly #unpublished = new Set<Uid>()
  /** Of declared resources. */
  readonly #inForceSince = new Map<Uid, InForceSince>()
  /** For the settings in force at the start, and for those published last. */
  #atStart: InForceSince = { revision: 0, at: 0 }
  #latest = this.#atStart

  constructor(options: PublicationOptions) {
    this.#options = options
  }

  /** Is nothing published, or nothing left of it? */
  isEmpty(): boolean {
    return this.#options.publisher.revision() === 0
  }

  /**
   * Compiles all resources at the start, and publishes them if Redis has something else. Throws `Unavailable`; the caller may then call it
   * again.
   */
  async start(changes: readonly ResourceChange[], signal: AbortSignal): Promise<void> {
    const { compilation, publisher, clock } = this.#options
    const { settingsChanged } = compilation.update(changes, clock.now())
    for (const uid of settingsChanged) this.#unpublished.add(uid)
    this.#latest = { revision: publisher.revision(), at: clock.now() }
    await this.#publish(signal)
    this.#atStart = this.#latest
    this.#inForceSince.clear()
  }

  /**
   * Compiles a change and publishes the result. Resolves when the compiled settings are in force, with since when. Throws `Unavailable`
   * when they could not be published: the next publish includes them, unless `run` has ended.
   */
  async submit(change: ResourceChange): Promise<InForceSince> {
    if (this.#hasEnded) throw new Unavailable(ENDED)
    const submission = { change, published: Promise.withResolvers<InForceSince>() }
    this.#waiting.push(submission)
    this.#submitted.notify()
    return await submission.published.promise
  }

  inForceSince(uid: Uid): InForceSince {
    return this.#inForceSince.get(uid) ?? this.#atStart
  }

  /**
   * Publishes what is submitted and what is due, until the signal aborts. Throws every error but `Unavailable`. At the end rejects all
   * waiting submissions, and later ones: a reconcile that waits for ever would keep the process from its exit.
   */
  async run(signal: AbortSignal): Promise<void> {
    try {
      while (!signal.aborted) {
        if (this.#waiting.length === 0) await this.#waitForWork(signal)
        if (!signal.aborted) await this.#publishSubmitted(signal)
      }
    } finally {
      this.#hasEnded = true
      for (const { published } of this.#waiting) published.reject(new Unavailable(ENDED))
      this.#waiting = []
    }
  }

  /** Waits until a change is submitted or due, or until a failed publish must be tried again. */
  async #waitForWork(signal: AbortSignal): Promise<void> {
    const { compilation, clock } = this.#options
    const dueInMs = (compilation.nextDueAt() ?? Number.POSITIVE_INFINITY) - clock.now()
    const waitMs = Math.min(dueInMs, this.#unpublished.size > 0 ? PUBLISH_RETRY_MS : PUBLICATION_IDLE_MS_MAX)
    if (waitMs <= 0) return
    const wake = (until: AbortSignal) => this.#submitted.wait(until)
    await raceFirst([wake, (until) => clock.sleep(waitMs, until)], signal).catch(() => undefined)
  }

  async #publishSubmitted(signal: AbortSignal): Promise<void> {
    const { compilation, clock, onChanged } = this.#options
    const submissions = this.#waiting
    this.#waiting = []
    const { changed, settingsChanged } = compilation.update(
      submissions.map(({ change }) => change),
      clock.now(),
    )
    for (const uid of settingsChanged) this.#unpublished.add(uid)
    try {
      if (this.#unpublished.size > 0) await this.#publish(signal)
      for (const { change } of submissions) this.#setInForce(change.uid)
      for (const { published } of submissions) published.resolve(this.#latest)
    } catch (error) {
      for (const { published } of submissions) published.reject(error)
      if (!(error instanceof Unavailable)) throw error
    }
    const own = new Set(submissions.map(({ change }) => change.uid))
    onChanged(changed.difference(own))
  }

  async #publish(signal: AbortSignal): Promise<void> {
    const { compilation, publisher, meter, clock } = this.#options
    const revision = await publishSettings(publisher, compilation.settings(), signal)
    this.#latest = { revision, at: clock.now() }
    meter.published()
    for (const uid of this.#unpublished) this.#setInForce(uid)
    this.#unpublished.clear()
  }

  /** Forgets a resource that is gone. Its submitter knows. */
  #setInForce(uid: Uid): void {
    if (this.#options.compilation.resultOf(uid) === undefined) this.#inForceSince.delete(uid)
    else this.#inForceSince.set(uid, this.#latest)
  }
}
