/**
 * Every limit that is not in another `*-limit.ts`, with its unit and the reason for its value.
 * Limits that a plan may change (rates, quota, deadline, retention) are in `tenant.ts`, as the defaults of a plan.
 */

const KIB = 1024
const MIB = 1024 * KIB
const SECOND_MS = 1000
const HOUR_MS = 3600 * SECOND_MS

/** Largest request body in bytes. The interface says 10 MB; read as 10 MiB, so that ten million bytes are never refused. */
export const BODY_BYTES_MAX = 10 * MIB

/** How much of a body that is too large is read and discarded, so that a client that is still sending sees the 413. */
export const BODY_DISCARD_BYTES_MAX = 64 * MIB

/** How long such a body is read before the connection closes. */
export const BODY_DISCARD_MS_MAX = 2 * SECOND_MS

/** How long a client may take to send its request. Stops slow-loris senders; 10 MiB in 30 s is a 2.8 Mbit/s line. */
export const REQUEST_RECEIVE_MS_MAX = 30 * SECOND_MS

/** Nesting of arrays and objects in a request body. Documents nest a handful deep; recursion in validators does not survive thousands. */
export const JSON_DEPTH_MAX = 64

/** All request headers together, in bytes. Node answers 431 above it. */
export const HEADER_BYTES_MAX = 16 * KIB

/** Entries of `error.details`: enough to correct a form, few enough that a hostile body cannot cause a long answer. */
export const ERROR_DETAILS_MAX = 20

/** Characters of a failure message as stored and shown. A template author's exception can have any length. */
export const FAILURE_MESSAGE_CHARS_MAX = 1000

/** Connections to the port of probes and metrics, and the time for one request. An orchestrator and a few scrapers use one each. */
export const PROBE_CONNECTIONS_MAX = 64
export const PROBE_RECEIVE_MS_MAX = 2 * SECOND_MS

/** Characters of `X-Request-Id` accepted from the caller. */
export const REQUEST_ID_CHARS_MAX = 128

/** Characters of a template code. */
export const TEMPLATE_CODE_CHARS_MAX = 128

/** Characters of `options.filename`. */
export const FILENAME_CHARS_MAX = 200

/** Longest side of a page in points: PDF readers refuse more than 200 inches. */
export const PAGE_SIDE_PT_MAX = 14_400

/** Shortest side of a page in points (about 1 cm): below it no engine can lay out a line of text. */
export const PAGE_SIDE_PT_MIN = 28

/** Templates on one page of the list: the default and the maximum. */
export const LIST_PER_PAGE_DEFAULT = 20
export const LIST_PER_PAGE_MAX = 100

/** Data up to this size travels in the queue record, larger data in the artifact store. Keeps records far below Kafka's default of 1 MB. */
export const INLINE_DATA_BYTES_MAX = 200 * KIB

/**
 * Slots of each engine for sync renders alone, beside those that serve every lane. Behind hundreds of async renders, a sync render then
 * shares the cores with the running ones and does not wait until one of them ends.
 */
export const SYNC_SLOTS = 1

/** How often a render is started before it fails with `render_crashed`. */
export const RENDER_ATTEMPTS_MAX = 3

/** A claim expires when its owner has not renewed it for this long. */
export const CLAIM_LEASE_MS = 15 * SECOND_MS

/** Three renewals per lease, so that two lost renewals do no harm. */
export const CLAIM_RENEW_MS = CLAIM_LEASE_MS / 3

/** A render waits at most this long for a renderer, then it fails with `expired`. */
export const QUEUE_AGE_MS_MAX = 24 * HOUR_MS

/** A sync render that no renderer claims within this time is abandoned: 503. */
export const SYNC_START_MS_MAX = 10 * SECOND_MS

/** How long a sync caller waits beyond the render's own deadline, so that the answer can arrive. */
export const SYNC_REPLY_MARGIN_MS = 3 * SECOND_MS

/** How long a request waits for one answer of the queue or a store before it gets 503. Callers and load balancers wait longer. */
export const PORT_CALL_MS_MAX = 5 * SECOND_MS

/** Characters of `Idempotency-Key`: what other services accept, and room for any identifier. */
export const IDEMPOTENCY_KEY_CHARS_MAX = 255

/** How long an `Idempotency-Key` stands for the request it was first sent with. Callers that retry do so within a day. */
export const IDEMPOTENCY_MS = 24 * HOUR_MS

/**
 * How long a request with an `Idempotency-Key` may take, beyond the wait for its render: each of its calls takes its full time, and clocks
 * differ. An older request has lost its process.
 */
export const IDEMPOTENCY_UNDER_WAY_MS = 6 * PORT_CALL_MS_MAX

/** `Retry-After` for a duplicate while the first request is in progress, in seconds. */
export const IDEMPOTENCY_RETRY_AFTER_S = 1

/** `Retry-After` of an accepted render before the first poll, in seconds. */
export const POLL_RETRY_AFTER_S = 1

/** `Retry-After` of a 503, in seconds. */
export const UNAVAILABLE_RETRY_AFTER_S = 2

/** How long a `pdf_url` is valid. */
export const PDF_URL_MS = 10 * 60 * SECOND_MS

/** Records that a consumer prefetches per lane. Small, because no other pod can take what one pod holds. */
export const CONSUMER_PREFETCH = 16

/** How long the record of a render that crashed its renderers is kept for people to inspect, and how many of them memory holds. */
export const DEAD_LETTERS_KEPT_MS = 30 * 24 * HOUR_MS
export const DEAD_LETTERS_KEPT_MAX = 100

/** Size of a finished PDF. */
export const PDF_BYTES_MAX = 100 * MIB

/** Nothing new is accepted with less free disk space than this: that of the largest PDF, so that accepted renders can be stored. */
export const DISK_FREE_BYTES_MIN = PDF_BYTES_MAX

/** How often the free disk space is checked: one system call. */
export const DISK_CHECK_EVERY_MS = 2 * SECOND_MS

/** Pages of a finished PDF. */
export const PDF_PAGES_MAX = 2000

/** Elements (nodes and texts) of one react_pdf tree. 3200 invoice rows of six cells are 40,000. */
export const ELEMENTS_MAX = 200_000

/**
 * Nodes of a document that react-pdf's own pagination may lay out again if the fast one breaks pages differently. Its time grows with the
 * square of their number: this many, a table of 600 rows of six cells, take about 2.5 s.
 */
export const PLAIN_LAYOUT_NODES_MAX = 8000

/** HTML after Liquid has filled it. */
export const HTML_BYTES_MAX = 20 * MIB

/** Memory Liquid may allocate for one template, as LiquidJS counts it (characters and elements): three passes over the largest HTML. */
export const LIQUID_ALLOCATIONS_MAX = 64 * MIB

/** Time Liquid may take for one template. Sensible ones need less. It is below the default deadline, so that the error names a line. */
export const LIQUID_MS_MAX = 20 * SECOND_MS

/** Memory of one template evaluation in QuickJS, including its own megabyte: ten times what a document of ten thousand rows takes. */
export const SANDBOX_MEMORY_BYTES_MAX = 256 * MIB

/** A QuickJS up to this memory is reused for the next evaluation. Its memory never shrinks, and all of it is overwritten in between. */
export const SANDBOX_MEMORY_KEPT_BYTES_MAX = 64 * MIB

/** Stack of one template evaluation in QuickJS. */
export const SANDBOX_STACK_BYTES_MAX = MIB

/** Characters of the element tree that leaves the sandbox. It is read at once, and is several times as large in memory. */
export const SANDBOX_TREE_CHARS_MAX = 64 * MIB

/**
 * How often QuickJS asks, about every 10,000 branches, whether to continue a publish check: about three seconds of plain computing, a
 * hundred times what a large document takes. A render has no such count: its deadline ends it and its thread.
 */
export const SANDBOX_CHECK_INTERRUPTS_MAX = 100_000

/** Nesting of elements in one react_pdf tree; layout recurses over it. */
export const ELEMENT_DEPTH_MAX = 200

/** Pixels of one image. react-pdf unpacks a PNG with transparency, and a few kilobytes of zeros can be gigabytes. */
export const IMAGE_PIXELS_MAX = 25_000_000

/** Heap and buffers of one render thread, in MiB as V8 counts them. Unpacking an image with the most pixels takes three quarters of it. */
export const RENDER_THREAD_HEAP_MIB_MAX = 1024

/** Renders after which a render thread is replaced. The first four hundred are slower, as V8 compiles. Memory and age may come first. */
export const RENDER_THREAD_RENDERS_MAX = 10_000

/** Age after which a render thread is replaced: growth too slow to notice otherwise starts over four times a day. */
export const RENDER_THREAD_AGE_MS_MAX = 6 * HOUR_MS

/**
 * Memory that a render thread may keep after a render, in MiB: the heap it has claimed from the system and the memory beside it, QuickJS
 * included. Twice that of a new thread; about 2000 rows leave as much behind, and V8 itself returns little of it.
 */
export const RENDER_THREAD_KEPT_MIB_MAX = 384

/**
 * Memory of the process that one page of the html engine has: the document, its layout, its images, and all that its scripts fill. Within
 * it Chromium prints a document of the most pages allowed, all text, or a table of 12,000 rows.
 */
export const PAGE_MEMORY_BYTES_MAX = 3072 * MIB

/** Memory of each browser process without a page: usually 100 MiB, 600 with a thousand frames. Scripts can fill 2 GiB with blobs. */
export const BROWSER_OWN_MEMORY_BYTES_MAX = 1024 * MIB

/** Renders after which a browser is replaced. */
export const BROWSER_RENDERS_MAX = 2000

/** Age after which a browser is replaced, for the same reason as a thread's. */
export const BROWSER_AGE_MS_MAX = 6 * HOUR_MS

/** Memory above which a browser is replaced, in MiB: so much for itself and once more for each page. A new page has 20. */
export const BROWSER_KEPT_MIB_MAX = 512
export const PAGE_KEPT_MIB_MAX = 128

/** Minimum interval between two measurements of a browser's memory. The system adds it up process by process. */
export const BROWSER_MEMORY_CHECK_EVERY_MS = 5 * SECOND_MS

/** How long a browser may take to start: 0.3 s, some seconds on an overloaded machine. Puppeteer has no limit of its own for a pipe. */
export const BROWSER_LAUNCH_MS_MAX = 15 * SECOND_MS

/** How often a browser is pinged. Renders in a hung browser cannot end, and most have more time than this. */
export const BROWSER_PING_EVERY_MS = 2 * SECOND_MS

/** How long a browser may take to answer a ping. It needs a millisecond, some seconds on an overloaded machine. */
export const BROWSER_PING_MS_MAX = 5 * SECOND_MS

/** How long a browser or a render thread may take to start. After that its engine counts as broken, and requests get 503 at once. */
export const ENGINE_START_MS_MAX = 10 * SECOND_MS

/** Renders after which a warm page is replaced. */
export const PAGE_RENDERS_MAX = 200

/** How long the render thread or the browser may take to end or restart after a deadline. The slot works again within it. */
export const SLOT_RECOVERY_MS_MAX = 2 * SECOND_MS

/** Template source, inline or from a ConfigMap (etcd and kubectl limit the size of objects). */
export const TEMPLATE_SOURCE_BYTES_MAX = 128 * KIB

/** Bytes of all assets of one template: what a renderer caches for each template it serves. */
export const ASSETS_BYTES_MAX = 10 * MIB

/** Bytes of assets that one renderer process caches (LRU). */
export const ASSET_CACHE_BYTES_MAX = 128 * MIB

/** Requests for assets that one document may make. Chromium requests each once, and once more in each frame. */
export const ASSET_REQUESTS_MAX = 1000

/** A fetch from an allowed host, from look-up to last byte. Image hosts answer in a fraction of it, and a render has 25 s. */
export const EGRESS_MS_MAX = 5 * SECOND_MS

/** One fetched file: as much as all assets of a template. */
export const EGRESS_BYTES_MAX = 10 * MIB

/** Headers of one answer, in bytes. */
export const EGRESS_HEADER_BYTES_MAX = 16 * KIB

/** Redirects on the way to one file: from the bare name to www, and from there to its location. */
export const EGRESS_REDIRECTS_MAX = 3

/** Characters of a URL that is fetched: what browsers and proxies commonly support. */
export const EGRESS_URL_CHARS_MAX = 2048

/** Concurrent fetches of one tenant; a browser opens six connections to a host. With more, this service could be used to attack others. */
export const EGRESS_AT_ONCE_MAX = 8

/** What one render may fetch in all, cached or not. Each byte is in memory several times on its way into a document. */
export const EGRESS_RENDER_BYTES_MAX = 32 * MIB

/** Fetched files that one renderer process caches (LRU), and for how long. Images change rarely, and a change shows after this time. */
export const EGRESS_CACHE_BYTES_MAX = 64 * MIB
export const EGRESS_CACHE_MS = 10 * 60 * SECOND_MS

/** How often a document is started with the files it has: for most files, for those only layout shows, and for page numbers that move. */
export const EGRESS_ROUNDS_MAX = 5

/**
 * Size of the text that lists the characters of all fonts of a template on its way into a page. A range of adjacent characters takes
 * little. A font with too many separate ones counts as having every character.
 */
export const FONT_COVERAGE_CHARS_MAX = 512 * KIB

/** Fonts of templates whose characters a render thread caches, a megabyte each at most. */
export const FONT_COVERAGES_MAX = 32

/** Distinct characters that are counted as missing in one document. A text in a script that no font has contains thousands. */
export const MISSING_GLYPHS_COUNTED_MAX = 1000

/** Dialogs (`alert` and the like) of one document that are answered. A loop of them would keep this process as busy as the page. */
export const PAGE_DIALOGS_MAX = 20

/** Characters of each metadata text of a PDF that comes from a document. */
export const METADATA_CHARS_MAX = 1000

/** The same in one render thread, for its images and its fonts each: those of a few large templates, or of dozens of small ones. */
export const THREAD_ASSET_CACHE_BYTES_MAX = 32 * MIB

/** Unpacked size of a font. The largest, Chinese and Japanese, have about 20 MB. A packed megabyte of zeros could be gigabytes. */
export const FONT_BYTES_MAX = 32 * MIB

/** Characters a `missing_glyph` warning names: enough to know the script, few enough to read. */
export const MISSING_GLYPHS_NAMED_MAX = 10

/** Size of one manifest file, and of all documents of a folder. */
export const MANIFEST_FILE_BYTES_MAX = 16 * MIB

/** A tenant's `variablesSchema` as JSON, and how deep it nests: ten times a long form, and a dozen levels of data. */
export const SCHEMA_BYTES_MAX = 64 * KIB
export const SCHEMA_DEPTH_MAX = 48

/**
 * What compiling such a schema may weigh, as `schema/variable/variables-schema.ts` counts it. One unit is about 50 µs, so compiling takes
 * less than an eighth of a second. A schema with 200 properties that are objects of two fields each fits.
 */
export const SCHEMA_WEIGHT_MAX = 2400

/** Size of one of its patterns, in instructions of RE2: `.{200}` has 202. Time and memory of matching grow with it. */
export const PATTERN_SIZE_MAX = 1000

/** Characters of a text that is checked against a `format`. No date, address or id is longer. */
export const FORMAT_CHARS_MAX = 2048

/**
 * Steps that checking one body of data may take, about 10 ns each. A schema that branches at each of its references would never end. The
 * largest body of the simplest data, ten MiB of digits in a list, takes ten million.
 */
export const VALIDATION_STEPS_MAX = 50_000_000

/** Commands that share one commit of the embedded database: so many that the flush hardly counts, so few that none waits long. */
export const COMMANDS_PER_COMMIT_MAX = 256

/** Calls that may wait for the embedded database. Above it they are refused at once, so that they do not pile up in memory. */
export const DATABASE_CALLS_MAX = 10_000

/** Ended renders that the ledger and the limiter of one process remember. Older ones are found by their manifests. About 5 MB. */
export const LEDGER_ENDED_MAX = 10_000

/** How long the charge total of a month is kept after its last charge: the longest month, and as long again for later queries. */
export const CHARGES_KEPT_MS = 62 * 24 * HOUR_MS

/** Rows pruned at once: a few milliseconds, because commands of renders wait meanwhile. */
export const PRUNE_ROWS_MAX = 1000

/** Events a reader fetches at once. */
export const EVENT_PREFETCH = 64

/** Documents in one manifest file: as many tenants as fit into its bytes, and no more empty ones than can be checked in seconds. */
export const MANIFEST_DOCUMENTS_MAX = 100_000

/** Values in one manifest document with its aliases expanded: far above any real one, and quick to walk. */
export const MANIFEST_NODES_MAX = 1_000_000

/** How often YAML aliases may multiply what they refer to: the default of `yaml`, which stops a billion laughs attack. */
export const MANIFEST_ALIASES_MAX = 100

/** How long a folder of manifests must stay unchanged before it is read. Editors and `git checkout` write in bursts. */
export const MANIFEST_DEBOUNCE_MS = 100

/** A folder that keeps changing is read anyway after this many such waits. */
export const MANIFEST_DEBOUNCES_MAX = 50

/** Wait before another try when a folder of manifests cannot be watched, or a change could not be published. */
export const MANIFEST_RETRY_MS = SECOND_MS

/** How long the publish check of one template may take from its turn on, including the wait for a thread. */
export const TEMPLATE_CHECK_MS_MAX = 30 * SECOND_MS

/** Publish checks at once if all templates belong to the caller: enough for a few render threads, few enough that each has its time. */
export const TEMPLATE_CHECKS_AT_ONCE = 4

/**
 * How long loading a folder of manifests waits for publish checks before it publishes without them: at the start, when no caller is served
 * yet, and later, when a suspended key must be out of force within a second.
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
 * How long before the last sign of life a render may have been accepted whose outcome was not published because of a kill: the longest
 * deadline with its waits, and as long again for stores that were unreachable for a while.
 */
export const RECOVERY_WINDOW_MS = 300 * SECOND_MS

/** Renders recovered together at a start: enough that they share a commit of the embedded database. */
export const RECOVERIES_AT_ONCE = 32

/** How long an unconfirmed reservation lasts: longer than any enqueue, short enough that a crash does not hold quota for long. */
export const RESERVATION_MS = 60 * SECOND_MS

/** The window of all rates. */
export const RATE_WINDOW_MS = 60 * SECOND_MS

/** Reservations between two sweeps of unused rate buckets. A sweep visits all of them. */
export const RATE_BUCKETS_SWEPT_EVERY = 1000

/** How long a process of a cluster may take to reach its dependencies. After that it exits with the reason. */
export const PROCESS_START_MS_MAX = 120 * SECOND_MS
