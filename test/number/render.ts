/** What the documents say about renders, templates, and the processes that make PDFs, with the numbers of the code. */
import * as http from '@platen/adapters/http/limit.ts'
import { OWN_MEMORY_BYTES, SLOT_MEMORY_BYTES, SLOTS_MAX } from '@platen/adapters/setting/limit.ts'
import * as contract from '@platen/contract/domain/limit.ts'
import { WARNING_CHARS_MAX, WARNINGS_MAX } from '@platen/contract/domain/warning.ts'
import { DISK_FREE_BYTES_MIN, EVENTS_KEPT_MS } from '@platen/embedded/store/limit.ts'
import { LOAD_MS_MAX } from '@platen/renderer/browser/document/load.ts'
import * as browser from '@platen/renderer/browser/limit.ts'
import { EVENT_BYTES_MAX, EVENTS_MAX } from '@platen/renderer/browser/message-reader.ts'
import * as engine from '@platen/renderer/engine/limit.ts'
import { EGRESS_RENDER_BYTES_MAX } from '@platen/renderer/limit.ts'
import { ENGINE_START_MS_MAX } from '@platen/renderer/port/availability.ts'
import { SCRIPT_BYTES_MAX } from '@platen/renderer/template/asset/script.ts'
import { LINT_CHARS_MAX } from '@platen/renderer/template/limit.ts'
import { CONSOLE_LINE_CHARS_MAX, CONSOLE_LINES_MAX } from '@platen/renderer/template/sandbox/console.ts'
import {
  CANCELED_POLL_MS,
  STORE_SLOW_MS,
  STORING_BYTES_MAX,
  STORING_PER_SLOT_MAX,
  SYNC_PAUSE_MS_MAX,
  SYNC_STORING_PER_SLOT_MAX,
} from '@platen/renderer/worker/limit.ts'
import { ASYNC_PER_BULK } from '@platen/renderer/worker/slots.ts'
import { MANIFEST_DOCUMENTS_MAX, MANIFEST_FILE_BYTES_MAX } from '@platen/settings/manifest/limit.ts'
import { days, digits, gib, hours, kib, mib, s, seconds, word, words } from './spelling.ts'

const MIB = 1024 * 1024

const RENDER = [
  `kills its renderer fails after ${word(contract.RENDER_ATTEMPTS_MAX)} attempts`,
  `a running render is started again, at most ${word(contract.RENDER_ATTEMPTS_MAX)} times in all`,
  `renders that crashed their renderer ${word(contract.RENDER_ATTEMPTS_MAX)} times`,
  `waits in the queue up to ${hours(contract.QUEUE_AGE_MS_MAX)} for a renderer`,
  `and after ${words(contract.QUEUE_AGE_MS_MAX)} their renders end as \`expired\``,
  `no renderer took them within ${words(contract.QUEUE_AGE_MS_MAX)}`,
  `there was no renderer for ${words(contract.QUEUE_AGE_MS_MAX)}`,
  `are \`queued\` for ${words(contract.QUEUE_AGE_MS_MAX)} and then 410`,
  `stay \`queued\` for ${words(contract.QUEUE_AGE_MS_MAX)}, and are 410`,
  `that lost renders had reserved stay reserved for ${words(contract.QUEUE_AGE_MS_MAX)}, and are then free`,
  `as if it had ended ${words(contract.QUEUE_AGE_MS_MAX)} after it was accepted`,
  `warnings | ${words(contract.VIEW_KEPT_MS)} at most`,
  `asks Redis every ${words(CANCELED_POLL_MS)} whether a render that it runs is canceled`,
  `While one runs, and for ${digits(SYNC_PAUSE_MS_MAX)} ms after it`,
  `For each slot at most ${word(STORING_PER_SLOT_MAX)} renders are stored meanwhile, and sync ones until there are ${word(SYNC_STORING_PER_SLOT_MAX)}, with at most ${mib(STORING_BYTES_MAX)} of PDFs in an engine`,
  `if the last one took more than ${words(STORE_SLOW_MS)}, the slot waits`,
  `Slots take ${word(ASYNC_PER_BULK)} renders of \`async\` for one of \`bulk\``,
  `one render of the bulk lane for each ${word(ASYNC_PER_BULK)} of those`,
  `S + A ÷ ${digits(ASYNC_PER_BULK)} of \`bulk\`: one for each ${word(ASYNC_PER_BULK)} of those`,
]

const ENGINE = [
  `have not started for more than ${seconds(ENGINE_START_MS_MAX)}`,
  `does nothing for ${words(browser.BROWSER_PING_MS_MAX)} and does not answer, is killed`,
  `at most ${mib(EVENT_BYTES_MAX)} and ${digits(EVENTS_MAX)} events of it are parsed`,
  `more than ${mib(EVENT_BYTES_MAX)} or ${digits(EVENTS_MAX)} events`,
  `A thread that no render has used for ${words(engine.RENDER_THREAD_IDLE_MS)} ends`,
  `When no html document has come for ${words(browser.BROWSER_IDLE_MS_MAX)}`,
  `takes longer than ${words(engine.SPARE_AFTER_MS)}`,
  `at a niceness of ${digits(engine.LOW_NICENESS)} more than the process`,
  `only for a render that has waited ${digits(engine.LAST_THREAD_PATIENCE_MS)} ms`,
  `ended at ${gib(engine.RENDER_THREAD_HEAP_MIB_MAX * MIB)} in a render thread and at ${gib(browser.PAGE_MEMORY_BYTES_MAX)} in a page`,
  `up to ${gib(engine.RENDER_THREAD_HEAP_MIB_MAX * MIB)} in a render thread and ${gib(browser.PAGE_MEMORY_BYTES_MAX)} in a page`,
  `A process needs ${mib(OWN_MEMORY_BYTES)} for itself and an idle browser, and ${mib(SLOT_MEMORY_BYTES)} for each slot: ${digits(engine.RENDER_THREAD_KEPT_MIB_MAX)} that a render thread may keep, and ${digits(browser.PAGE_KEPT_MIB_MAX)} for a page`,
  `at least 1 and at most ${digits(SLOTS_MAX)}`,
  `does not wait more than ${words(LOAD_MS_MAX)} for loading`,
  `open more than ${word(browser.PAGE_DIALOGS_MAX)} dialogs`,
]

const TEMPLATE = [
  `the first ${digits(CONSOLE_LINES_MAX)} lines of the module and of the component, and the first ${digits(CONSOLE_LINE_CHARS_MAX)} characters of each`,
  `UTF-8 text of at most ${mib(SCRIPT_BYTES_MAX)}`,
  `looked for in the filled HTML, up to ${mib(LINT_CHARS_MAX)} of it`,
  `keeps it for ${words(engine.EGRESS_CACHE_MS)}`,
  `A fetched file is used again for ${words(engine.EGRESS_CACHE_MS)}`,
  `A file must arrive within ${seconds(http.EGRESS_MS_MAX)} and have at most ${mib(http.EGRESS_BYTES_MAX)}; all files of a render together at most ${mib(EGRESS_RENDER_BYTES_MAX)}`,
  `Redirects are followed, up to ${word(http.EGRESS_REDIRECTS_MAX)}`,
  `\`inline\` is base64, at most ${kib(contract.TEMPLATE_SOURCE_BYTES_MAX)} in all`,
  `A source is in the template or in a ConfigMap of the same namespace, and has at most ${kib(contract.TEMPLATE_SOURCE_BYTES_MAX)}`,
  `One that takes more than ${seconds(engine.CHECK_CPU_MS_MAX)} of CPU is ended`,
  `no answer after ${seconds(engine.CHECK_MS_MAX)}`,
  `longer each time it happens, up to ${words(engine.CHECK_BACK_OFF.msMax)}`,
  `${word(engine.CHECKS_AT_ONCE)} templates are checked at once, one of each tenant, each for ${s(engine.CHECK_CPU_MS_MAX)} of CPU at most`,
  `A render keeps at most ${digits(WARNINGS_MAX)} different warnings, with messages of ${digits(WARNING_CHARS_MAX)} characters in all`,
  `a text over ${digits(contract.FORMAT_CHARS_MAX)} characters is no date`,
  `A schema has at most ${kib(contract.SCHEMA_BYTES_MAX)}, ${digits(contract.SCHEMA_DEPTH_MAX)} levels, a [weight](templates.md#limits) of ${digits(contract.SCHEMA_WEIGHT_MAX)}, and ${digits(contract.PATTERN_SIZE_MAX)} instructions in a pattern`,
]

const FOLDER = [
  `A folder has at most ${mib(MANIFEST_FILE_BYTES_MAX)}, a file at most ${digits(MANIFEST_DOCUMENTS_MAX)} documents, and a document is nested at most ${digits(contract.JSON_DEPTH_MAX)} levels deep`,
  `less than ${mib(DISK_FREE_BYTES_MIN)} free on the disk`,
  `ended more than ${days(EVENTS_KEPT_MS)} ago`,
  `message of a failure, warnings | ${days(EVENTS_KEPT_MS)} |`,
  `id of the render | ${days(EVENTS_KEPT_MS)} |`,
  `At the start and once ${words(contract.REMOVE_EVERY_MS)}`,
]

export const OF_RENDERS = [...RENDER, ...ENGINE, ...TEMPLATE, ...FOLDER]
