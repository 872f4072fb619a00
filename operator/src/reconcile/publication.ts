/**
 * The one way from resources to Redis. Changes that come while a revision is being published are compiled and published together as
 * the next one, so that a change waits for two calls at the most and ten thousand of them take few.
 */
import type { Instant } from '@platen/contract/brand.ts'
import { type Notifier, openNotifier } from '@platen/contract/notifier.ts'
import type { Clock } from '@platen/contract/port/clock.ts'
import type { DirectoryPublisher, DirectorySnapshot } from '@platen/contract/port/directory.ts'
import { Unavailable } from '@platen/contract/port/unavailable.ts'
import { raceFirst } from '@platen/contract/race.ts'
import type { Uid } from '@platen/contract/resource.ts'
import type { Compilation, ResourceChange } from '../compilation/compilation.ts'
import { PUBLICATION_IDLE_MS_MAX, PUBLISH_RETRY_MS } from '../limit.ts'

export interface PublicationOptions {
  readonly compilation: Compilation
  readonly publisher: DirectoryPublisher & {
    readonly revision: () => number
    /** Publishes again what Redis has lost; answers whether it had to. */
    readonly repair: (signal: AbortSignal) => Promise<boolean>
    /** What the next revision is to be numbered. */
    readonly nextRevision: () => number
    /** What of a snapshot is not published as it is. */
    readonly differences: (snapshot: DirectorySnapshot) => readonly unknown[]
  }
  /** Told who else has come to something else by a change. */
  readonly onChanged: (uids: ReadonlySet<Uid>) => void
  readonly clock: Clock
}

/** When the settings of a resource came into force. */
export interface InForceSince {
  readonly revision: number
  readonly at: Instant
}

interface Submission {
  readonly change: ResourceChange
  readonly published: PromiseWithResolvers<void>
}

export class Publication {
  readonly #options: PublicationOptions
  readonly #submitted: Notifier = openNotifier()
  #waiting: Submission[] = []
  /** Whose settings are compiled and not published. */
  readonly #unpublished = new Set<Uid>()
  readonly #inForceSince = new Map<Uid, InForceSince>()
  /** Of what was in force at the beginning, and of what was published last. */
  #atStart: InForceSince = { revision: 0, at: 0 }
  #latest = this.#atStart

  constructor(options: PublicationOptions) {
    this.#options = options
  }

  /** Is nothing published, or nothing left of what was? */
  isEmpty(): boolean {
    return this.#options.publisher.revision() === 0
  }

  /**
   * Takes all there is at the beginning, and publishes it where it is not what is published. Throws `Unavailable`, and may be called
   * again then.
   */
  async start(changes: readonly ResourceChange[], signal: AbortSignal): Promise<void> {
    const { compilation, publisher, clock } = this.#options
    const { settingsChanged } = compilation.update(changes, clock.now())
    for (const uid of settingsChanged) this.#unpublished.add(uid)
    this.#latest = { revision: publisher.revision(), at: clock.now() }
    const isPublished = publisher.revision() > 0 && publisher.differences(this.#snapshot()).length === 0
    if (isPublished) this.#unpublished.clear()
    else await this.#publish(signal)
    this.#atStart = this.#latest
    this.#inForceSince.clear()
  }

  /**
   * Compiles a change, and publishes what comes of it. Resolves when what is in force is what was compiled. Throws `Unavailable` where it
   * could not be published: it will be with whatever comes next.
   */
  submit(change: ResourceChange): Promise<void> {
    const submission = { change, published: Promise.withResolvers<void>() }
    this.#waiting.push(submission)
    this.#submitted.notify()
    return submission.published.promise
  }

  /** Since when what a resource came to is in force. */
  inForceSince(uid: Uid): InForceSince {
    return this.#inForceSince.get(uid) ?? this.#atStart
  }

  /** Publishes what is submitted and what is due, until the signal aborts. Throws what is no `Unavailable`. Nobody waits any more then. */
  async run(signal: AbortSignal): Promise<void> {
    try {
      while (!signal.aborted) {
        if (this.#waiting.length === 0) await this.#waitForWork(signal)
        if (!signal.aborted) await this.#publishSubmitted(signal)
      }
    } finally {
      for (const { published } of this.#waiting) published.reject(new Unavailable('the publisher has stopped'))
      this.#waiting = []
    }
  }

  /** Until something is submitted or due, or what could not be published is to be tried again. */
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
      for (const { change } of submissions) this.#inForceSince.set(change.uid, this.#latest)
      for (const { published } of submissions) published.resolve()
    } catch (error) {
      for (const { published } of submissions) published.reject(error)
      if (!(error instanceof Unavailable)) throw error
    }
    const own = new Set(submissions.map(({ change }) => change.uid))
    onChanged(changed.difference(own))
  }

  async #publish(signal: AbortSignal): Promise<void> {
    const { publisher, clock } = this.#options
    const snapshot = this.#snapshot()
    try {
      await publisher.publish(snapshot, signal)
    } catch (cause) {
      if (!(cause instanceof RangeError)) throw cause
      // Somebody else's revision, who had no right to it, stands above all that are known here.
      await publisher.repair(signal)
      throw new Unavailable('Redis holds a revision that this operator did not publish', { cause })
    }
    this.#latest = { revision: snapshot.revision, at: clock.now() }
    for (const uid of this.#unpublished) this.#inForceSince.set(uid, this.#latest)
    this.#unpublished.clear()
  }

  #snapshot(): DirectorySnapshot {
    const { compilation, publisher } = this.#options
    return { ...compilation.settings(), revision: publisher.nextRevision() }
  }
}
