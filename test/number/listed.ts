/** Numbers in documents that no constant of the product holds, by where they come from. */

/** Sections of measurements and of what the tests do: every number in them is listed. */
export const LISTED_SECTIONS: readonly { readonly path: string; readonly heading: string }[] = [
  { path: 'README.md', heading: '## Measured' },
  { path: 'CONTRIBUTING.md', heading: '## From clone to a green check' },
  { path: 'docs/benchmarks.md', heading: '## Other products' },
  { path: 'docs/benchmarks.md', heading: '## How each is set' },
  { path: 'docs/benchmarks.md', heading: '## Where others are better' },
  { path: 'docs/benchmarks.md', heading: '## The bare libraries' },
  { path: 'docs/disaster.md', heading: '## Figures' },
  { path: 'docs/sizing.md', heading: '## Your own figures first' },
  { path: 'docs/sizing.md', heading: '## Memory' },
  { path: 'docs/sizing.md', heading: '## When ten times as many come' },
  { path: 'docs/sizing.md', heading: '## Growth' },
  { path: 'docs/sizing.md', heading: '## From no renderer, on a real node' },
]

const MEASURED = [
  'The fonts take 98 MB of an image that renders. 86 MB of them are the large ones: simplified Chinese 21 MB, traditional Chinese 14 MB, Japanese 11 MB, Korean 12 MB, and emoji 27 MB',
  'and one GET in `events`, each about 25 ms',
  'some 440 MiB at the highest, and 390 MiB while an operator that starts again',
  'some 150 MiB for itself, 80 to 380 MiB for each render thread and 190 MiB for Chromium',
  'some 100 MB for the renderer',
  'the next html render waits some 0.7 s for others',
  'Templates of html are filled in threads of their own, of some 35 MiB',
  'within a second, even with ten thousand tenants',
  'A change takes effect within a second, once the files have been quiet',
  'sees it within a second, and reads all existing events',
  'some eleven bytes for each',
  'it has 16 bytes for each render',
  'at 1,000 a second are 77 GiB',
  'at some 1,500 renders a second',
  'some 850 bytes for each render that is kept',
  'A webhook takes some 930 bytes more',
  'That is 2 GiB for a render a second, kept 30 days',
  'utilization × (0.5 s + the time of a document',
  'made 458 calls a second',
  'some four million renders a day',
  'more than about half a second to check does not fit',
  'Each builds its servers once, in ten minutes (`make kube`) or forty',
  'no longer works two seconds later',
]

const OF_TESTS = [
  'SIGSTOP of each of them for 20 s',
  'FLUSHALL every 5 s | 4 times',
  'S3 answers 503, is full, or answers 1.5 s late',
  'the clock of each process jumps by an hour',
  'with two of each process | 5 times',
  'behind 2,000 renders',
  'within 50 ms at the 99th percentile and 250 ms at most, and memory stays within 1.5 times',
]

const OF_OTHER_SYSTEMS = [
  // Kafka's default of offsets.retention.minutes.
  'without members, after a week by default',
  // The kubelet's sync period and its cache of Secrets.
  'brings the change to the pods within a minute or two',
  'which processes read again within two minutes',
  // Chromium's margin boxes.
  'keeps 15 points between header or footer',
  'width="49%"',
  'width="24%"',
]

/** From the calendar, or from how retention counts in whole days of UTC. */
const OF_THE_CALENDAR = [
  'the charges of a month',
  'that a tenant has used and reserved in a month',
  'costs more than a month has',
  'that clock is an hour off',
  '`retentionDays` and at most a day more',
  'eight days, and at most a day more',
  'nine days, and at most a day more',
  'is over, eight days later and at most one more',
  'until its erasure is over, after eight days and at most another one',
  'until the first is gone; then it is served within a minute',
  'tried again a day later',
  'after an hour, two, four and so on',
]

/** What we advise or promise without enforcing it. */
const ADVICE = [
  'for example to keep events for 60 days',
  'remove noncurrent versions after a day',
  'expire `manifest/` and the prefixes of tenants 2 days after',
  'expire `idempotency/` after 3 days',
  'three releases and nine months after that',
]

export const LISTED = [...MEASURED, ...OF_TESTS, ...OF_OTHER_SYSTEMS, ...OF_THE_CALENDAR, ...ADVICE]
