/** What the documents say about the processes of a cluster, its servers, its operator and its chart, with the numbers of the code. */
import * as kafka from '@platen/adapters/kafka/limit.ts'
import { PARTITIONS } from '@platen/adapters/kafka/topic.ts'
import { LAST_SPANS_MS_MAX, SPANS_WAITING_MAX } from '@platen/adapters/otel/limit.ts'
import { SOON_MS } from '@platen/adapters/prometheus/operator.ts'
import * as redis from '@platen/adapters/redis/limit.ts'
import { SETTING_FILES_READ_MS } from '@platen/adapters/setting/limit.ts'
import { LOG_WAITING_BYTES_MAX } from '@platen/adapters/system/log-output.ts'
import { CLOSE_MS_MAX, FLUSH_MS_MAX } from '@platen/adapters/system/run.ts'
import { SYNC_REPLY_MARGIN_MS, SYNC_START_MS_MAX } from '@platen/api/admission/limit.ts'
import { DIRECTORY_ENFORCED_MS_MAX } from '@platen/cli/publish.ts'
import * as contract from '@platen/contract/domain/limit.ts'
import { CHARGES_AUDITED_EVERY_MS } from '@platen/events/charge/limit.ts'
import { ERASURES_LOOKED_FOR_EVERY_MS } from '@platen/events/retention/limit.ts'
import * as cluster from '@platen/operator/cluster/limit.ts'
import * as leader from '@platen/operator/leader/limit.ts'
import * as reconcile from '@platen/operator/reconcile/limit.ts'
import { SECRET_AUDIT_READS_PER_SECOND_MAX, SECRETS_GRANT_RETRY_MS } from '@platen/operator/secret/limit.ts'
import { parse } from 'yaml'
import { readText } from '../architecture/source-tree.ts'
import { days, digits, hours, mib, s, seconds, word, words } from './spelling.ts'

const SECOND_MS = 1000
const DAY_MS = 24 * 3600 * SECOND_MS

const values = parse(readText('charts/platen/values.yaml')) as {
  readonly api: { readonly terminationGracePeriodSeconds: number }
  readonly rendererDefaults: { readonly concurrency: number }
  readonly autoscaling: { readonly lagPerReplica: number }
}
const [, preStop] = /"preStopSeconds" (\d+)/.exec(readText('charts/platen/templates/api.yaml')) ?? []
const [, grace] =
  /\(add \$renderer\.drainSeconds (\d+)\)/.exec(readText('charts/platen/templates/renderer/renderer.yaml')) ?? []

/** What the API needs to end beside the deadline of a render, in whole steps of five seconds. */
const apiCloseMs = 5000 * Math.ceil((SYNC_START_MS_MAX + SYNC_REPLY_MARGIN_MS + CLOSE_MS_MAX) / 5000)

const LIST = [
  `and at most ${redis.LIST_BYTES_MAX / 2 ** 30} GiB for each tenant and environment`,
  `and takes at most ${redis.LIST_BYTES_MAX / 2 ** 30} GiB, as estimated`,
  `labels | as the PDF | yes; the id stays ${words(redis.LIST_REMOVED_KEPT_MS)}`,
  `reference | as the PDF | yes; the id stays ${words(redis.LIST_REMOVED_KEPT_MS)}`,
  `on its way to the caller | until its caller has it, and ${words(redis.REPLY_KEPT_MS)} at most`,
  `is told within ${words(kafka.DELIVERY_SHOWN_AGAIN_MS)} after it is back`,
]

const QUEUE = [
  `are answered 503 within ${words(2 * kafka.KAFKA_ENQUEUE_MS_MAX)}`,
  `| Kafka | 503 within ${words(2 * kafka.KAFKA_ENQUEUE_MS_MAX)}`,
  `| ${words(kafka.KAFKA_QUEUE_KEPT_MS)}; \`sync\` ${words(kafka.KAFKA_SYNC_KEPT_MS)} |`,
  `the whole request up to 200 KiB | ${days(kafka.KAFKA_QUEUE_KEPT_MS)}; sync: ${hours(kafka.KAFKA_SYNC_KEPT_MS, 'hour')} |`,
  `reminders: when which delivery is due | ${words(kafka.KAFKA_QUEUE_KEPT_MS)}`,
  `| ids | ${days(kafka.KAFKA_QUEUE_KEPT_MS)}; dead: ${days(contract.DEAD_LETTERS_KEPT_MS)} |`,
  `keeps queues ${words(kafka.KAFKA_QUEUE_KEPT_MS)}`,
  `how renders ended | ${days(kafka.KAFKA_EVENTS_KEPT_MS)}`,
  `and events for ${days(kafka.KAFKA_EVENTS_KEPT_MS)}, on three brokers`,
  `message of a failure, warnings | ${days(kafka.KAFKA_EVENTS_KEPT_MS)}`,
  `the days of their topic: ${days(kafka.KAFKA_EVENTS_KEPT_MS, '').trim()}, unless`,
  `reminders of webhooks, ${days(kafka.KAFKA_EVENTS_KEPT_MS)} of events`,
  `\`platen-reason\` | ${days(contract.DEAD_LETTERS_KEPT_MS)}`,
  `like \`render.dead\`, for deliveries | ${days(contract.DEAD_LETTERS_KEPT_MS)}`,
  `records that cannot be read | ${days(contract.DEAD_LETTERS_KEPT_MS)}`,
  `of renders that crashed | ${days(contract.DEAD_LETTERS_KEPT_MS)}`,
  `If your duty to erase is shorter than ${days(contract.DEAD_LETTERS_KEPT_MS)}`,
  `without renderers again every ${words(kafka.KAFKA_OFFSETS_RENEWED_EVERY_MS)}`,
  `which happens once ${words(kafka.KAFKA_COMMIT_EVERY_MS)}`,
  `up to the ${digits(PARTITIONS.events)} partitions of \`webhook.due\``,
]

const VIEWS = [
  `when it does not answer for ${words(redis.REDIS_HEALTH_CHECK_MS)}`,
  `finds that out within ${words(redis.REDIS_HEALTH_CHECK_MS + contract.REDIS_CALL_MS_MAX)}`,
  `for each, for ${days(redis.CHARGES_KEPT_MS)} after the last`,
  `sees within ${words(CHARGES_AUDITED_EVERY_MS)} that they have become less`,
]

const STORE = [
  `a tombstone without them stays ${word(contract.ERASED_KEPT_DAYS)} days`,
  `The first round is within ${words(ERASURES_LOOKED_FOR_EVERY_MS)}, in the embedded`,
  `who erased it | ${word(contract.ERASED_KEPT_DAYS)} days`,
  // Whoever gave the order has a day to read what was found.
  `the Erasure | ${word(contract.ERASED_KEPT_DAYS + 1)} days`,
  `counts as \`unfinished\` for ${word(contract.ERASED_KEPT_DAYS)} days`,
  `is \`Unfinished\` for ${word(contract.ERASED_KEPT_DAYS)} days`,
  `an order under \`erasure/\` for ${word(contract.ERASED_KEPT_DAYS)} days`,
  // A day that is UTC's, and the hour until the next removal.
  `so up to ${hours(DAY_MS + contract.REMOVE_EVERY_MS)} later`,
]

const USAGE_ROUND_MINUTES = Math.floor((10_000 / leader.USAGE_READS_AT_ONCE) * (leader.USAGE_READ_EVERY_MS / 60_000))

const USAGE = [
  `The operator reads ${digits(leader.USAGE_READS_AT_ONCE)} tenants a second, so 10,000 tenants in a little over ${word(USAGE_ROUND_MINUTES)} minutes`,
  `at most once ${words(leader.USAGE_SHOWN_MS_MIN)} for a tenant, from ${digits(leader.USAGE_STEP * 100)} percent more on or when the limit is reached, and after ${words(leader.USAGE_EXACT_AFTER_MS)} in any case`,
  `is over ${words(leader.USAGE_CONFIRMED_EVERY_MS)} old only if they cannot be read`,
  `lower figures wait ${words(leader.USAGE_EXACT_AFTER_MS)}`,
]

const OPERATOR = [
  `The operator tries again every ${words(SECRETS_GRANT_RETRY_MS)}`,
  `the other leads within ${words(cluster.LEASE_RETRY_MS + SECOND_MS)}`,
  `The other operator leads within ${words(cluster.LEASE_RETRY_MS + SECOND_MS)}`,
  `after an operator that died it takes some ${seconds(cluster.LEASE_MS)}`,
  `the other leads within some ${seconds(cluster.LEASE_MS)}`,
  `A process reports every ${words(redis.DIRECTORY_REPORT_EVERY_MS)}, and counts for ${words(redis.DIRECTORY_REPORT_KEPT_MS)} after`,
  `it takes those ${words(redis.DIRECTORY_REPORT_KEPT_MS)} until`,
  `until it has been silent for ${words(redis.DIRECTORY_REPORT_KEPT_MS)}`,
  `after ${words(redis.DIRECTORY_REPORT_KEPT_MS)} nobody waits for it`,
  `or for ${seconds(reconcile.REVOKED_MS_MAX)} if one does not follow`,
  `the operator waits at most ${seconds(reconcile.REVOKED_MS_MAX)} for a process`,
  `published within ${words(reconcile.PUBLISH_RETRY_MS)} or two of its return`,
  `| Redis was emptied, or set back | within ${words(2 * contract.DIRECTORY_REPAIR_MS)}`,
  `publishes the settings within ${words(2 * contract.DIRECTORY_REPAIR_MS)}`,
  `in little over ${words(leader.DIRECTORY_AUDIT_MS)}`,
  `at most ${word(SECRET_AUDIT_READS_PER_SECOND_MAX)} Secrets a second are checked`,
  `at most ${word(SECRET_AUDIT_READS_PER_SECOND_MAX)} Secrets a second in turn`,
  `their declared \`expiresAt\` within ${word(SOON_MS / DAY_MS)} days`,
  `waits up to ${s(DIRECTORY_ENFORCED_MS_MAX)} until every connected API process`,
  `enforce the revision after ${s(DIRECTORY_ENFORCED_MS_MAX)}`,
  `after a loss of Redis within ${s(2 * contract.DIRECTORY_REPAIR_MS)}`,
  `ends with exit code 1 within ${s(2 * contract.DIRECTORY_REPAIR_MS)}`,
]

const PROCESS = [
  `reads these files again every ${words(SETTING_FILES_READ_MS)}`,
  `the longest deadline of your plans plus ${seconds(apiCloseMs)}`,
  `${mib(LOG_WAITING_BYTES_MAX)} of lines wait for it`,
  `the reader has ${words(FLUSH_MS_MAX)} to read the waiting lines`,
  `At most ${digits(SPANS_WAITING_MAX)} spans wait`,
  `a process that ends gives it ${words(LAST_SPANS_MS_MAX).replace(/^a /, 'one ')}`,
]

const CHART = [
  `So its pods first sleep ${word(Number(preStop))} seconds`,
  `renderers \`drainSeconds\` plus ${digits(Number(grace))},`,
  `The default of ${digits(values.autoscaling.lagPerReplica)} fits documents`,
  `the chart does (\`concurrency: ${digits(values.rendererDefaults.concurrency)}\`)`,
]

export const OF_CLUSTERS = [...LIST, ...QUEUE, ...VIEWS, ...STORE, ...OPERATOR, ...USAGE, ...PROCESS, ...CHART]
