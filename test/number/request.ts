/** What the documents say about callers, their requests, the files around a template, and webhooks, with the numbers of the code. */
import * as http from '@platen/adapters/http/limit.ts'
import { DEFAULT_TRAFFIC_LIMITS } from '@platen/adapters/setting/limit.ts'
import * as admission from '@platen/api/admission/limit.ts'
import * as body from '@platen/api/body/limit.ts'
import * as api from '@platen/api/limit.ts'
import * as route from '@platen/api/route/limit.ts'
import { BODY_PIECE_BYTES_MIN, WAITS_OF_ACCOUNT_SHARE, WAITS_SHARE } from '@platen/api/traffic/limit.ts'
import * as contract from '@platen/contract/domain/limit.ts'
import * as webhook from '@platen/events/webhook/limit.ts'
import { TRACESTATE_CHARS_MAX, TRACESTATE_MEMBERS_MAX } from '@platen/lib/trace.ts'
import { WAIT_MS } from '../../client/src/client/wait.ts'
import { RETRIES } from '../../client/src/client.ts'
import { TOLERANCE_SECONDS } from '../../client/src/webhook.ts'
import { digits, hours, kib, mib, minutes, s, seconds, word, words } from './spelling.ts'

const traffic = DEFAULT_TRAFFIC_LIMITS

const REQUEST = [
  `| connections at once | ${digits(traffic.connections)} |`,
  `headers and body | received within ${s(api.REQUEST_RECEIVE_MS_MAX)} |`,
  `| a body, as it is sent and inflated | ${mib(contract.BODY_BYTES_MAX)}; ${mib(body.BATCH_BYTES_MAX)} for a batch |`,
  `${mib(contract.BODY_BYTES_MAX)} in a body, ${mib(body.BATCH_BYTES_MAX)} in that of a batch | 413`,
  `The body may have ${mib(body.BATCH_BYTES_MAX)}, as it is sent and inflated`,
  `A batch makes up to ${digits(contract.BATCH_ITEMS_MAX)} PDFs`,
  `faults of all items, up to ${digits(body.BATCH_FAULTS_MAX)} of them`,
  `| bodies of running requests | ${mib(body.BODIES_OF_ONE_KEY_BYTES_MAX)} of a key, ${mib(body.BODIES_BYTES_MAX)} of a process |`,
  `the bodies of running requests take at most ${mib(body.BODIES_OF_ONE_KEY_BYTES_MAX)} for a key and ${mib(body.BODIES_BYTES_MAX)} for an API process`,
  `| bodies in a minute | ${mib(traffic.keyBytes)} of a key; a piece of less than ${kib(BODY_PIECE_BYTES_MIN)} counts as ${kib(BODY_PIECE_BYTES_MIN)} |`,
  `that repeat an \`Idempotency-Key\` | ${digits(traffic.keyRefusals)} a minute of a key`,
  `| other requests | ${digits(traffic.keyRequests)} a minute of a key`,
  `| test events | ${digits(route.TEST_EVENTS_PER_MINUTE)} a minute of a tenant`,
  `A tenant may send ${word(route.TEST_EVENTS_PER_MINUTE)} a minute`,
  `is not made within ${seconds(route.TEST_EVENT_WAIT_MS)}, the answer is 202`,
  `shows the delivery later, for ${words(route.TEST_EVENT_KEPT_MS)}`,
  `of a test event: ${words(route.TEST_EVENT_KEPT_MS)} or two`,
  `requests for \`/openapi.json\` and \`/docs\` | ${digits(traffic.addressRefusals)} a minute of an address`,
  `parsing a body over ${kib(body.BODY_PARSED_INLINE_BYTES_MAX)}, checking data | one at a time for each tenant, in a thread; ${s(body.BODY_CHECK_MS_MAX)}, including the wait`,
  `PDFs being sent | ${mib(body.ANSWERS_OF_ONE_TENANT_BYTES_MAX)} of each environment of a tenant`,
  `Running answers take at most ${mib(body.ANSWERS_OF_ONE_TENANT_BYTES_MAX)} for each environment of a tenant`,
  `by \`?wait=\` | ${digits(route.WAIT_S_MAX)} s; a quarter of the connections of a process (${digits(traffic.connections * WAITS_SHARE)}), and an eighth of these (${digits(traffic.connections * WAITS_OF_ACCOUNT_SHARE)}) for an account`,
  `\`wait\` is a whole number up to ${digits(route.WAIT_S_MAX)}`,
  `Ask for less than ${digits(route.WAIT_S_MAX)} seconds if a proxy`,
  `A status with \`?wait=\` may take ${digits(route.WAIT_S_MAX)} s`,
  `notices an end up to ${words(route.WAIT_LOOK_MS)} late`,
  `the \`renderTimeoutSeconds\` of the plan and ${s(admission.SYNC_START_MS_MAX + admission.SYNC_REPLY_MARGIN_MS)}`,
  `an answer that nobody reads | ${s(api.ANSWER_STALLED_MS_MAX)}`,
  `an answer that nobody reads for ${seconds(api.ANSWER_STALLED_MS_MAX)} is cut off`,
  `the whole request up to ${kib(contract.INLINE_DATA_BYTES_MAX)}`,
  `a \`tracestate\` of more than ${digits(TRACESTATE_CHARS_MAX)} characters or ${digits(TRACESTATE_MEMBERS_MAX)} members`,
]

const SYNC_WAIT = [
  `wait; a sync request ${seconds(admission.SYNC_START_MS_MAX)} at most`,
  `Sync callers are answered 503 after ${words(admission.SYNC_START_MS_MAX)}`,
  `sync renders found no renderer within ${words(admission.SYNC_START_MS_MAX)}`,
  `that has not begun in ${words(admission.SYNC_START_MS_MAX)} is answered 503`,
]

const LINK = [
  `A link to a PDF ends after ${words(route.PDF_URL_MS)}`,
  `gives one that is good for ${words(route.PDF_URL_MS)}`,
  `the PDF that a link names, for the ${words(route.PDF_URL_MS)} that the link is valid`,
  `Wait ${words(route.PDF_URL_MS)} more: links to PDFs are signed with the old key`,
]

const IDEMPOTENCY = [
  `A key has at most ${digits(route.IDEMPOTENCY_KEY_CHARS_MAX)} characters`,
  `(of \`Idempotency-Key\`) that are older than ${words(contract.IDEMPOTENCY_MS)}`,
  `${words(contract.IDEMPOTENCY_MS)} or two after the request`,
  `SHA-256 of the body | ${words(contract.IDEMPOTENCY_MS)} or two`,
  `answers the same id for ${words(contract.IDEMPOTENCY_MS)}`,
]

const retries = contract.WEBHOOK_RETRY_MS
const [first = 0, second = 0, third = 0, fourth = 0, last = 0] = retries
const scheduleMs = retries.reduce((sum, ms) => sum + ms, 0)

const WEBHOOK = [
  `signs for ${hours(contract.WEBHOOK_SECRET_OVERLAP_MS, 'more hours')}`,
  `signs for another ${hours(contract.WEBHOOK_SECRET_OVERLAP_MS)} beside the new one`,
  `the old one signs for ${hours(contract.WEBHOOK_SECRET_OVERLAP_MS)} more`,
  `A second rotation within the ${hours(contract.WEBHOOK_SECRET_OVERLAP_MS)}`,
  `each secret signs for its own ${hours(contract.WEBHOOK_SECRET_OVERLAP_MS)}`,
  `a secret whose ${hours(contract.WEBHOOK_SECRET_OVERLAP_MS)} are not over`,
  `the one before it for ${hours(contract.WEBHOOK_SECRET_OVERLAP_MS)} in \`previousSecret\``,
  `within the overlap of ${hours(contract.WEBHOOK_SECRET_OVERLAP_MS)}`,
  `At most ${word(contract.WEBHOOK_SECRETS_MAX)} secrets sign at once`,
  `At most ${digits(contract.WEBHOOK_CALLS_MAX)} calls run at once, ${digits(webhook.WEBHOOK_CALLS_PER_TENANT_MAX)} of them for one tenant, and ${digits(contract.WEBHOOK_CALLS_PER_HOST_MAX)} of them to one host of a tenant`,
  `is near ${digits(contract.WEBHOOK_CALLS_MAX)} for each process`,
  `has at most ${digits(contract.WEBHOOK_CALLS_PER_HOST_MAX)} calls at once, and one at a time while it takes longer than ${words(webhook.WEBHOOK_SLOW_MS)} to answer`,
  `within ${seconds(http.WEBHOOK_ATTEMPT_MS_MAX)} of the start of the attempt`,
  `a receiver that takes longer than ${words(http.WEBHOOK_ATTEMPT_MS_MAX)} has failed`,
  `${kib(http.WEBHOOK_EXCERPT_BYTES_MAX)} are kept for you to see; it is read for ${words(http.WEBHOOK_EXCERPT_MS_MAX)} at most`,
  `only ${kib(http.WEBHOOK_EXCERPT_BYTES_MAX)} of an answer kept`,
  `repeated ${s(first)}, ${s(second)}, ${s(third)}, ${minutes(fourth, 'min')} and ${minutes(last, 'min')} after its end`,
  `${word(retries.length + 1)} attempts within some ${digits(Math.ceil(scheduleMs / 60_000))} minutes`,
  `as long, at most ${minutes(last)}`,
  // The schedule with its jitter, rounded up to ten minutes.
  `under another \`X-Service-Delivery\` for ${words(TOLERANCE_SECONDS * 1000)}`,
  `unless the timestamp is within ${words(TOLERANCE_SECONDS * 1000)} of your clock`,
  `or allow for more than ${words(TOLERANCE_SECONDS * 1000)}`,
  `compared in constant time, valid for ${words(TOLERANCE_SECONDS * 1000)}`,
  `From ${minutes(TOLERANCE_SECONDS * 1000)} on, receivers refuse signatures`,
  `sent again up to ${word(RETRIES)} times (\`retries\`)`,
  `only \`timeoutMs\` (${minutes(WAIT_MS)}) limits`,
]

export const OF_REQUESTS = [...REQUEST, ...SYNC_WAIT, ...LINK, ...IDEMPOTENCY, ...WEBHOOK]
