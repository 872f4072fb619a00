/** How large a cluster has to be, as a formula: docs/sizing.md is its table. Figures are of `make bench`, prices of a public list. */

/** What is assumed of one render and of the machines; docs/sizing.md lists it. */
export interface Assumptions {
  /** Of a core, all that a renderer does for one document. */
  readonly coreMsOfDocument: number
  /** Of a core, for one request to the API. */
  readonly coreMsOfRequest: number
  /** Of what pods could do at most: the rest is for bursts and for partitions that are not shared out evenly. */
  readonly utilization: number
  readonly podCores: number
  /** Of all renders. */
  readonly webhookShare: number
  readonly pdfBytes: number
  readonly recordBytes: number
  readonly eventBytes: number
  readonly eventDays: number
  readonly queueDays: number
  readonly retentionDays: number
  readonly copies: number
  /** Calls of Redis for one render: a script or a command each. */
  readonly redisCalls: number
  readonly redisCallMicroseconds: number
  readonly price: {
    readonly corePerMonth: number
    readonly putPerThousand: number
    readonly s3PerGibMonth: number
    readonly diskPerGibMonth: number
  }
}

export const ASSUMPTIONS: Assumptions = {
  // Measured: 53 invoices of 50 rows a second by html on two cores, which the caller and the stores share.
  coreMsOfDocument: 38,
  // docs/sizing.md says how it was measured.
  coreMsOfRequest: 3,
  utilization: 0.65,
  podCores: 2,
  webhookShare: 0.2,
  pdfBytes: 60_000,
  recordBytes: 6000,
  eventBytes: 1000,
  eventDays: 45,
  queueDays: 7,
  retentionDays: 30,
  copies: 3,
  redisCalls: 8,
  redisCallMicroseconds: 80,
  price: { corePerMonth: 30, putPerThousand: 0.005, s3PerGibMonth: 0.023, diskPerGibMonth: 0.08 },
}

export interface Size {
  readonly renderers: number
  readonly partitions: number
  readonly lagPerReplica: number
  readonly apiPods: number
  readonly kafkaGib: number
  readonly redisShare: number
  readonly redisGib: number
  readonly putsPerSecond: number
  readonly s3Gib: number
  readonly dollarsPerMonth: {
    readonly cores: number
    readonly puts: number
    readonly s3: number
    readonly disks: number
  }
}

const DAY_SECONDS = 24 * 3600
const MONTH_SECONDS = 30 * DAY_SECONDS
const GIB = 2 ** 30
/** What is done is committed once a second, so half a second of it counts as lag on average: `KAFKA_COMMIT_EVERY_MS`. */
const UNCOMMITTED_SECONDS = 0.5
/** Numbers that many others divide, so that partitions are shared out evenly; more than 200 the product refuses. */
const PARTITIONS = [12, 24, 48, 96, 144, 192, 200]
/** The projection has an entry of 16 bytes for each render, of this month and the last. */
const CHARGE_BYTES = 16
const CHARGE_MONTHS = 2
/** PDF and manifest; with a webhook that is taken at once the index of its delivery, and this with its result. */
const PUTS = 2
const PUTS_OF_WEBHOOK = 2
/** Of whatever is there twice so that one is left. */
const LEAST = 2

/** What so many renders a second need, day and night. */
export function sizeOf(perSecond: number, assumed: Assumptions): Size {
  const { podCores, utilization, price } = assumed
  const perPod = ((podCores * 1000) / assumed.coreMsOfDocument) * utilization
  const renderers = Math.max(LEAST, Math.ceil(perSecond / perPod))
  // Twice as many pods may come before partitions are the bound.
  const partitions = PARTITIONS.find((count) => count >= 2 * renderers) ?? Math.max(...PARTITIONS)
  const apiPods = Math.max(LEAST, Math.ceil((perSecond * assumed.coreMsOfRequest) / (1000 * podCores * utilization)))
  const kafkaBytes =
    assumed.copies *
    perSecond *
    DAY_SECONDS *
    (assumed.recordBytes * assumed.queueDays + assumed.eventBytes * assumed.eventDays)
  const putsPerSecond = perSecond * (PUTS + assumed.webhookShare * PUTS_OF_WEBHOOK)
  const s3Bytes = perSecond * DAY_SECONDS * assumed.retentionDays * assumed.pdfBytes
  return {
    renderers,
    partitions,
    lagPerReplica: Math.max(1, Math.round(perPod * (UNCOMMITTED_SECONDS + assumed.coreMsOfDocument / 1000))),
    apiPods,
    kafkaGib: kafkaBytes / GIB,
    redisShare: (perSecond * assumed.redisCalls * assumed.redisCallMicroseconds) / 1e6,
    redisGib: (perSecond * MONTH_SECONDS * CHARGE_MONTHS * CHARGE_BYTES) / GIB,
    putsPerSecond,
    s3Gib: s3Bytes / GIB,
    dollarsPerMonth: {
      cores: (renderers + apiPods) * podCores * price.corePerMonth,
      puts: (putsPerSecond * MONTH_SECONDS * price.putPerThousand) / 1000,
      s3: (s3Bytes / GIB) * price.s3PerGibMonth,
      disks: (kafkaBytes / GIB) * price.diskPerGibMonth,
    },
  }
}
