/**
 * Every ceiling in the system, with its unit and the reason for its value.
 * What a plan may change (rates, quota, deadline, retention) is in `tenant.ts`, as the defaults of a plan.
 */

const KIB = 1024
const MIB = 1024 * KIB
const SECOND_MS = 1000
const HOUR_MS = 3600 * SECOND_MS

/** Largest request body in bytes: the interface says 10 MB, read as 10 MiB so that nobody's ten million bytes are refused. */
export const BODY_BYTES_MAX = 10 * MIB

/** How much of a body that is too large is read and thrown away, so that a client still sending sees the 413. */
export const BODY_DISCARD_BYTES_MAX = 64 * MIB

/** How long such a body is read before the connection closes. */
export const BODY_DISCARD_MS_MAX = 2 * SECOND_MS

/** How long a client may take to send its request. Stops slow-loris senders; 10 MiB in 30 s is a 2.8 Mbit/s line. */
export const REQUEST_RECEIVE_MS_MAX = 30 * SECOND_MS

/** Nesting of arrays and objects in a request body. Documents nest a handful deep; recursion in validators does not survive thousands. */
export const JSON_DEPTH_MAX = 64

/** All request headers together, in bytes. Node answers 431 past it. */
export const HEADER_BYTES_MAX = 16 * KIB

/** Entries of `error.details`: enough to mend a form, few enough to keep a hostile body from writing a long answer. */
export const ERROR_DETAILS_MAX = 20

/** Characters of a failure message as it is kept and shown; a template author's exception can be any length. */
export const FAILURE_MESSAGE_CHARS_MAX = 1000

/** Connections at once to the port of probes and metrics, and how long each may take to ask: an orchestrator and a few scrapers have one each, for a moment. */
export const PROBE_CONNECTIONS_MAX = 64
export const PROBE_RECEIVE_MS_MAX = 2 * SECOND_MS

/** Characters of `X-Request-Id` taken over from the caller. */
export const REQUEST_ID_CHARS_MAX = 128

/** Characters of a template code. */
export const TEMPLATE_CODE_CHARS_MAX = 128

/** Characters of `options.filename`. */
export const FILENAME_CHARS_MAX = 200

/** Longest side of a page in points: PDF readers refuse more than 200 inches. */
export const PAGE_SIDE_PT_MAX = 14_400

/** Shortest side of a page in points (about 1 cm): below it no engine can lay out a line of text. */
export const PAGE_SIDE_PT_MIN = 28

/** Templates on one page of the list, when the caller does not say and at most. */
export const LIST_PER_PAGE_DEFAULT = 20
export const LIST_PER_PAGE_MAX = 100

/** Data up to this size travels in the queue record, larger data in the artifact store: keeps records far under Kafka's 1 MB default. */
export const INLINE_DATA_BYTES_MAX = 200 * KIB

/**
 * Slots of each engine for sync renders alone, beside those that serve every lane: behind hundreds of async renders a sync one
 * shares the cores with those under way, and does not wait for one of them to end.
 */
export const SYNC_SLOTS = 1

/** How often a render is started before it is given up as `render_crashed`. */
export const RENDER_ATTEMPTS_MAX = 3

/** A claim lapses when its owner has not renewed it for this long. */
export const CLAIM_LEASE_MS = 15 * SECOND_MS

/** Renewed three times a lease, so that two lost renewals do no harm. */
export const CLAIM_RENEW_MS = CLAIM_LEASE_MS / 3

/** A render waits at most this long for a renderer, then it is `failed` with `expired`. */
export const QUEUE_AGE_MS_MAX = 24 * HOUR_MS

/** A sync render that no renderer took in this time is abandoned: 503. */
export const SYNC_START_MS_MAX = 10 * SECOND_MS

/** What a sync caller waits beyond the render's own deadline for the answer to travel. */
export const SYNC_REPLY_MARGIN_MS = 3 * SECOND_MS

/** How long a request waits for one answer of the queue or a store before it is answered 503: callers and load balancers wait longer. */
export const PORT_CALL_MS_MAX = 5 * SECOND_MS

/** Characters of `Idempotency-Key`: what other services take, and room for any identifier. */
export const IDEMPOTENCY_KEY_CHARS_MAX = 255

/** How long an `Idempotency-Key` stands for the request it was first sent with: callers that retry do so within a day. */
export const IDEMPOTENCY_MS = 24 * HOUR_MS

/**
 * How long a request with an `Idempotency-Key` may be under way, beyond what waiting for its render takes: each of its calls at
 * the very end of its time, and clocks that differ. One that is older has lost its process.
 */
export const IDEMPOTENCY_UNDER_WAY_MS = 6 * PORT_CALL_MS_MAX

/** How long the caller of a duplicate is asked to wait for the first request, in seconds. */
export const IDEMPOTENCY_RETRY_AFTER_S = 1

/** How long an accepted caller is asked to wait before the first poll, in seconds. */
export const POLL_RETRY_AFTER_S = 1

/** `Retry-After` of a 503, in seconds. */
export const UNAVAILABLE_RETRY_AFTER_S = 2

/** How long a `pdf_url` is good for. */
export const PDF_URL_MS = 10 * 60 * SECOND_MS

/** Records a consumer holds per lane beyond those being rendered: small, as what one pod holds no other can take. */
export const CONSUMER_PREFETCH = 16

/** How long the record of a render that brought its renderers down is kept for people to look at, and how many of them memory holds. */
export const DEAD_LETTERS_KEPT_MS = 30 * 24 * HOUR_MS
export const DEAD_LETTERS_KEPT_MAX = 100

/** Size of a finished PDF. */
export const PDF_BYTES_MAX = 100 * MIB

/** Room on the disk below which nothing new is accepted: that of the largest PDF, so that what has been accepted can be kept. */
export const DISK_FREE_BYTES_MIN = PDF_BYTES_MAX

/** How often the room on the disk is looked at: one system call. */
export const DISK_CHECK_EVERY_MS = 2 * SECOND_MS

/** Pages of a finished PDF. */
export const PDF_PAGES_MAX = 2000

/** Elements (nodes and texts) of one react_pdf tree. 3200 invoice rows of six cells are 40,000. */
export const ELEMENTS_MAX = 200_000

/**
 * Nodes of a document that react-pdf's own pagination may lay out again, where the fast one breaks pages otherwise: it takes time
 * in the square of their number, some two and a half seconds for so many: a table of 600 rows of six cells.
 */
export const PLAIN_LAYOUT_NODES_MAX = 8000

/** HTML after Liquid has filled it. */
export const HTML_BYTES_MAX = 20 * MIB

/** What Liquid may allocate while it fills one template, counted by LiquidJS in characters and array elements: three passes over the largest HTML. */
export const LIQUID_ALLOCATIONS_MAX = 64 * MIB

/** Time Liquid may take for one template. Past every sensible one, and below the default deadline, so that the author reads the line at fault. */
export const LIQUID_MS_MAX = 20 * SECOND_MS

/** Memory of one template evaluation in QuickJS, its own megabyte included: ten times what a document of ten thousand rows takes. */
export const SANDBOX_MEMORY_BYTES_MAX = 256 * MIB

/** Memory up to which a QuickJS is kept for the next evaluation: it never shrinks, and all of it is overwritten in between. */
export const SANDBOX_MEMORY_KEPT_BYTES_MAX = 64 * MIB

/** Stack of one template evaluation in QuickJS. */
export const SANDBOX_STACK_BYTES_MAX = MIB

/** Characters of the element tree as it leaves the sandbox: read in one go, in memory several times as large. */
export const SANDBOX_TREE_CHARS_MAX = 64 * MIB

/**
 * How often QuickJS asks, about every 10,000 branches, whether to go on with a publish check: some three seconds of
 * plain computing, a hundred times what a large document takes. A render has no such count: its deadline ends it, thread and all.
 */
export const SANDBOX_CHECK_INTERRUPTS_MAX = 100_000

/** Nesting of elements in one react_pdf tree; layout recurses over it. */
export const ELEMENT_DEPTH_MAX = 200

/** Pixels of one image: react-pdf unpacks a PNG with transparency, and a few kilobytes of zeros can be gigabytes. */
export const IMAGE_PIXELS_MAX = 25_000_000

/** Heap of one render thread and the buffers beside it, in MiB as V8 counts them: an image of all the pixels it may have takes three quarters while it is unpacked. */
export const RENDER_THREAD_HEAP_MIB_MAX = 1024

/** Renders after which a render thread is replaced. Its first four hundred are slower, as V8 compiles what it has seen often; memory and age end it before where need be. */
export const RENDER_THREAD_RENDERS_MAX = 10_000

/** Age past which a render thread is replaced: what grows too slowly to be seen otherwise starts over four times a day. */
export const RENDER_THREAD_AGE_MS_MAX = 6 * HOUR_MS

/**
 * Memory a render thread may keep after a render, in MiB: its heap as it was claimed from the system, and what stands beside it,
 * QuickJS included. Twice what a new thread has, and what some 2000 rows leave behind: V8 hands little of it back by itself.
 */
export const RENDER_THREAD_KEPT_MIB_MAX = 384

/**
 * Memory of the process one page of the html engine has: the document, its layout, its images, and all that its scripts fill.
 * Chromium prints a document of as many pages of text as are allowed within it, and a table of 12,000 rows.
 */
export const PAGE_MEMORY_BYTES_MAX = 3072 * MIB

/** Memory of each process of a browser that is no page's: 100 MiB as a rule, 600 with a thousand frames, and scripts can fill 2 GiB with blobs. */
export const BROWSER_OWN_MEMORY_BYTES_MAX = 1024 * MIB

/** Renders after which a browser is replaced. */
export const BROWSER_RENDERS_MAX = 2000

/** Age past which a browser is replaced, for the same reason as a thread's. */
export const BROWSER_AGE_MS_MAX = 6 * HOUR_MS

/** Memory past which a browser is replaced, in MiB of its own: so much for itself, and so much again for each of its pages, of which a new one has 20. */
export const BROWSER_KEPT_MIB_MAX = 512
export const PAGE_KEPT_MIB_MAX = 128

/** How often the memory of a browser is looked at, at most: the system counts it up process by process. */
export const BROWSER_MEMORY_CHECK_EVERY_MS = 5 * SECOND_MS

/** How long a browser may take to start: 0.3 s, on a starved machine some seconds. Puppeteer's own limit is none where it is driven through a pipe. */
export const BROWSER_LAUNCH_MS_MAX = 15 * SECOND_MS

/** How often a browser is asked for a sign of life: one that hangs keeps its renders from their end, and most have longer than this. */
export const BROWSER_PING_EVERY_MS = 2 * SECOND_MS

/** How long it may take to give one. It needs a millisecond; on a starved machine some seconds. */
export const BROWSER_PING_MS_MAX = 5 * SECOND_MS

/** How long a browser or a render thread may take to start before its engine counts as broken, and requests for it are refused at once. */
export const ENGINE_START_MS_MAX = 10 * SECOND_MS

/** Renders after which a warm page is replaced. */
export const PAGE_RENDERS_MAX = 200

/** How long the render thread or the browser may take to die or come back after a deadline: the slot works again within it. */
export const SLOT_RECOVERY_MS_MAX = 2 * SECOND_MS

/** Template source, inline or from a ConfigMap (etcd and kubectl cap objects). */
export const TEMPLATE_SOURCE_BYTES_MAX = 128 * KIB

/** The assets of one template together, as bytes: what a renderer holds at hand for each template it serves. */
export const ASSETS_BYTES_MAX = 10 * MIB

/** Assets one renderer process keeps at hand, the least recently used given up first. */
export const ASSET_CACHE_BYTES_MAX = 128 * MIB

/** Requests for assets one document may make: Chromium asks once for each of them, and once more in each frame. */
export const ASSET_REQUESTS_MAX = 1000

/** A fetch from a template's allowed host, from the look-up of its name to the last byte. Hosts that serve images answer in a fraction of it, and a render has 25 s. */
export const EGRESS_MS_MAX = 5 * SECOND_MS

/** One fetched file: as much as all assets of a template. */
export const EGRESS_BYTES_MAX = 10 * MIB

/** Headers of one answer, in bytes. */
export const EGRESS_HEADER_BYTES_MAX = 16 * KIB

/** Redirects on the way to one file: from the bare name to www, and to where it lies. */
export const EGRESS_REDIRECTS_MAX = 3

/** Characters of a URL that is fetched: what browsers and proxies agree to carry. */
export const EGRESS_URL_CHARS_MAX = 2048

/** Fetches of one tenant at once; a browser has six connections to a host. More would make this service a tool against others. */
export const EGRESS_AT_ONCE_MAX = 8

/** What one render may fetch in all, be it at hand or not: each byte is in memory several times on its way into a document. */
export const EGRESS_RENDER_BYTES_MAX = 32 * MIB

/** Fetched files one renderer process keeps at hand, the least recently used given up first, and for how long: images change rarely, and are seen to change. */
export const EGRESS_CACHE_BYTES_MAX = 64 * MIB
export const EGRESS_CACHE_MS = 10 * 60 * SECOND_MS

/** How often a document is begun with the files it has: once to learn of most, once more for what only layout shows, and some for page numbers that move. */
export const EGRESS_ROUNDS_MAX = 5

/**
 * Text that names the characters of all fonts of a template on its way into a page. Characters that
 * stand beside each other take little; a font of too many that do not is taken to have all there are.
 */
export const FONT_COVERAGE_CHARS_MAX = 512 * KIB

/** Fonts of templates whose characters a render thread keeps in mind, a megabyte each at most. */
export const FONT_COVERAGES_MAX = 32

/** Distinct characters that are counted as missing in one document; a text in a script no font has is thousands. */
export const MISSING_GLYPHS_COUNTED_MAX = 1000

/** Dialogs (`alert` and its like) of one document that are answered; a loop of them keeps this process as busy as the page. */
export const PAGE_DIALOGS_MAX = 20

/** Characters of each text of a PDF's metadata that comes out of a document. */
export const METADATA_CHARS_MAX = 1000

/** The same in one render thread, for its images and for its fonts each: those of a few large templates, or of dozens of small ones. */
export const THREAD_ASSET_CACHE_BYTES_MAX = 32 * MIB

/** A font unpacked: the largest faces, of Chinese and Japanese, have some 20 MB, and a packed megabyte of zeros could be gigabytes. */
export const FONT_BYTES_MAX = 32 * MIB

/** Characters a `missing_glyph` warning names: enough to know the script, few enough to read. */
export const MISSING_GLYPHS_NAMED_MAX = 10

/** One manifest file, and all documents of a folder. */
export const MANIFEST_FILE_BYTES_MAX = 16 * MIB

/** A tenant's `variablesSchema` as JSON, and how deep it nests: ten times a long form, and a dozen levels of data. */
export const SCHEMA_BYTES_MAX = 64 * KIB
export const SCHEMA_DEPTH_MAX = 48

/**
 * What compiling such a schema may weigh, by `schema/variable/variables-schema.ts`: one is some 50 microseconds, so that compiling stays below
 * an eighth of a second. Two hundred properties that are objects of two fields each fit.
 */
export const SCHEMA_WEIGHT_MAX = 2400

/** Size of one of its patterns, in instructions of RE2: `.{200}` has 202. Time and memory of matching grow with it. */
export const PATTERN_SIZE_MAX = 1000

/** Characters of a text whose `format` is looked at; no date, address or id is longer. */
export const FORMAT_CHARS_MAX = 2048

/**
 * Steps of some ten nanoseconds that checking one body of data may take: a schema that branches at each of its references would
 * never end. The largest body of the plainest data, ten MiB of digits in a list, takes ten million.
 */
export const VALIDATION_STEPS_MAX = 50_000_000

/** Commands that share one commit of the embedded database: enough that the flush no longer counts, few enough that nobody waits long for others. */
export const COMMANDS_PER_COMMIT_MAX = 256

/** Calls that may wait for the embedded database; past it they are refused at once instead of piling up in memory. */
export const DATABASE_CALLS_MAX = 10_000

/** Settled renders that the ledger and the limiter of one process remember; older ones are found by their manifests. About 5 MB. */
export const LEDGER_ENDED_MAX = 10_000

/** How long the sum charged to a month outlasts its last charge: the longest month, and as much again for who asks afterwards. */
export const CHARGES_KEPT_MS = 62 * 24 * HOUR_MS

/** Rows pruned at once: a few milliseconds, as commands of renders wait behind it. */
export const PRUNE_ROWS_MAX = 1000

/** Events a reader fetches at once. */
export const EVENT_PREFETCH = 64

/** Documents in one manifest file: as many tenants as fit into its bytes, and no more empty ones than can be looked at in seconds. */
export const MANIFEST_DOCUMENTS_MAX = 100_000

/** Values in one manifest document, aliases written out: far over any real one, and what a walk takes in a moment. */
export const MANIFEST_NODES_MAX = 1_000_000

/** How often YAML aliases may multiply what they stand for: `yaml`'s own default, and no billion laughs. */
export const MANIFEST_ALIASES_MAX = 100

/** How long a folder of manifests must lie still before it is read: editors and `git checkout` write in bursts. */
export const MANIFEST_DEBOUNCE_MS = 100

/** A folder that never lies still is read all the same after this many such waits. */
export const MANIFEST_DEBOUNCES_MAX = 50

/** How long before a folder of manifests that cannot be watched, or a change that could not be published, is tried again. */
export const MANIFEST_RETRY_MS = SECOND_MS

/** How long the publish check of one template may take from its turn on, waiting for a thread included. */
export const TEMPLATE_CHECK_MS_MAX = 30 * SECOND_MS

/** Publish checks at once where all templates are the caller's own: enough to keep a few render threads busy, few enough that each has its time. */
export const TEMPLATE_CHECKS_AT_ONCE = 4

/**
 * How long a look at a folder of manifests waits for publish checks before it publishes without them: at the start, when nobody is
 * served yet, and afterwards, when a key that is suspended is to be out of force within a second.
 */
export const MANIFEST_CHECKS_FIRST_MS = 15 * SECOND_MS
export const MANIFEST_CHECKS_LATER_MS = 250

/** Characters of an artifact's key: the limit of S3. */
export const ARTIFACT_KEY_CHARS_MAX = 1024

/** Characters between two slashes of an artifact's key: what file systems allow in a name. */
export const ARTIFACT_NAME_CHARS_MAX = 255

/** How long events and charges are kept: longer than a month of quota and any retry of a webhook. */
export const EVENTS_KEPT_MS = 40 * 24 * HOUR_MS

/**
 * How long before the last sign of life a render may have been accepted whose outcome a kill kept from being announced: the longest
 * deadline with its waits, and as much again for stores that could not be reached for a while.
 */
export const RECOVERY_WINDOW_MS = 300 * SECOND_MS

/** Renders looked at together at a start: enough that they share a commit of the embedded database. */
export const RECOVERIES_AT_ONCE = 32

/** How long a reservation stands that nobody confirmed: longer than any enqueue, short enough that a crash costs no quota for long. */
export const RESERVATION_MS = 60 * SECOND_MS

/** The window of all rates. */
export const RATE_WINDOW_MS = 60 * SECOND_MS

/** Reservations between two sweeps of rate buckets that nobody uses any more: a sweep looks at all of them. */
export const RATE_BUCKETS_SWEPT_EVERY = 1000

/** How long a process of a cluster may take to reach what it stands on: past it, it ends with the reason. */
export const PROCESS_START_MS_MAX = 120 * SECOND_MS
