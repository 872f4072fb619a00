import type { Readable } from 'node:stream'
import { parseArgs } from 'node:util'
import { httpEgress } from '@platen/adapters/http/egress.ts'
import { ENGINE_SETTINGS } from '@platen/adapters/setting/engine.ts'
import { ConfigError, table, type Variables } from '@platen/adapters/setting/setting.ts'
import { systemClock } from '@platen/adapters/system/clock.ts'
import { systemIds } from '@platen/adapters/system/ids.ts'
import { parseRenderId } from '@platen/contract/domain/render-id.ts'
import { ENGINES, type Engine } from '@platen/contract/domain/render-options.ts'
import { INSTANT_FORMAT, parseInstant } from '@platen/lib/instant.ts'
import type { Log } from '@platen/lib/log.ts'
import { FileUnfit } from '@platen/settings/secrets.ts'
import { type CheckOptions, checkFolder, faultsIn, formatReport } from './check.ts'
import { UsageError, withoutControls } from './diagnostic/diagnostic.ts'
import { openPreview, type PreviewOptions } from './preview.ts'
import type { EraseOptions } from './publish/erase.ts'
import { SETTINGS } from './publish/setting.ts'
import type { PublishOptions } from './publish.ts'
import type { RendererPorts } from './renderer.ts'
import { watchPreview } from './watch.ts'

const USAGE = `usage: platen check <folder> [--no-render]
       platen preview <folder> <template> [--data <file>] [--engine <engine>] [-o <file>] [--watch]
       platen publish <folder> [--watch]
       platen erase render <id>... [--embedded] [--by <name>]
       platen erase tenant <name> [--reference <text>] [--before <time>] [--account <uid>] [--embedded]
                           [--by <name>]

  check     read a folder of manifests as the service would, render every template with its sample
            data, and print what is wrong; nothing is written, and no service needs to run
    --no-render        compile and check the templates, but render none

  preview   render one template of a folder, by its code, its name or namespace/name, to a PDF
    --data <file>      JSON to render instead of the template's sampleData; - reads standard input
    --engine <engine>  react_pdf or html, instead of the template's own
    -o <file>          where to write the PDF; by default <code>.pdf in the current folder
    --watch            render again whenever a manifest or the data is saved, until Ctrl-C

  publish   publish a folder to a cluster: template sources and assets in S3, then plans,
            tenants, templates and keys in Redis, and wait up to 10 s until every API process
            enforces them; if anything is refused, nothing is published
    --watch            publish again whenever a manifest is saved, or Redis has lost what was
                       published, until Ctrl-C or until another publish takes over

  erase     erase renders, or those of a tenant, from S3 and Redis: PDFs, outcomes, deliveries and
            claims; say what stays in Kafka until when, and write a line of JSON for audits to
            standard error. Repeating it is safe and completes what was interrupted
    --reference <text> only renders that have this reference now, each once
    --before <time>    only what was accepted before, such as 2027-01-31T00:00:00Z
    --account <uid>    a tenant that was removed, by the uid that it had
    --embedded         in the data folder PLATEN_DATA_DIR of an embedded service, which is stopped
    --by <name>        who erases; by default the user of this process

publish reads these settings, and each secret also from the file that its name with _FILE names:
${columns(SETTINGS.entries.map(({ name }) => name))}
Identities, generated API keys and webhook secrets are kept in PLATEN_DATA_DIR. Use the same folder each
time: with another folder, every tenant is a new one. erase reads those of Redis and S3.

PLATEN_CHROMIUM is the path of the browser that renders html; with none, html is not rendered; if not
set, a browser is searched for. PLATEN_EGRESS_ALLOW_CIDRS has the same meaning as for the service.

The exit code is 0 when nothing is wrong, 1 when something is wrong, and 2 when the arguments are wrong
or a setting is missing.
`

function columns(names: readonly string[]): string {
  return names
    .join(' ')
    .replace(/(.{1,96})( |$)/g, '  $1\n')
    .trimEnd()
}
/** Renders that one call may name: more than anyone types, and they share one object of the expiry index. */
const ERASED_BY_ID_MAX = 500

const HELP = { help: { type: 'boolean', short: 'h' } } as const

export interface Terminal {
  readonly variables: Variables
  readonly stdin: Readable
  readonly print: (text: string) => void
  readonly printError: (text: string) => void
}

/**
 * Resolves with the exit code: 0 when all is well, 1 when the command found or had a fault, and 2 when it was called wrongly. Rejects with
 * the signal's reason.
 */
export async function runCommand(args: readonly string[], terminal: Terminal, signal: AbortSignal): Promise<number> {
  try {
    const call = parse(args)
    if (call !== undefined) return await run(call, terminal, signal)
    terminal.printError(USAGE)
    return 2
  } catch (error) {
    const isOfCaller = error instanceof UsageError || error instanceof ConfigError || error instanceof FileUnfit
    if (signal.aborted || !isOfCaller) throw error
    terminal.printError(`platen: ${withoutControls(error.message)}\n`)
    return 2
  }
}

async function run(call: CommandCall, terminal: Terminal, signal: AbortSignal): Promise<number> {
  const { variables, print, printError } = terminal
  const { chromium, egressAllowCidrs: allowCidrs } = table(ENGINE_SETTINGS).read(variables)
  const clock = systemClock()
  const egress = httpEgress({ clock, allowCidrs })
  const ports: RendererPorts = { clock, ids: systemIds(), log: errorLog(printError), chromium, egress }
  switch (call.command) {
    case 'help':
      print(USAGE)
      return 0
    case 'check': {
      const report = await checkFolder(call.options, ports, signal)
      print(formatReport(report))
      return faultsIn(report) === 0 ? 0 : 1
    }
    case 'publish': {
      // Loaded only here: the S3 client loads slowly, and the other commands do not need it.
      const { publishFolder } = await import('./publish.ts')
      const isPublished = await publishFolder(call.options, { ...ports, variables, print, printError }, signal)
      return isPublished ? 0 : 1
    }
    case 'erase': {
      const { erase } = await import('./publish/erase.ts')
      return (await erase(call.options, { ...ports, variables, print, printError }, signal)) ? 0 : 1
    }
    case 'preview': {
      await using previewer = openPreview(call.options, { ...ports, stdin: terminal.stdin }, signal)
      if (call.isWatching) {
        await watchPreview(call.options, { ...ports, previewer, print }, signal)
        return 0
      }
      const { isRendered, text } = await previewer.render(signal)
      print(text)
      return isRendered ? 0 : 1
    }
  }
}

/** Prints only errors of the engines themselves. Results of documents are reported elsewhere. */
function errorLog(complain: Terminal['printError']): Log {
  const nothing = () => undefined
  return {
    debug: nothing,
    info: nothing,
    warn: nothing,
    error(fields, message) {
      const cause = 'err' in fields && fields.err instanceof Error ? `: ${fields.err.message}` : ''
      complain(`platen: ${withoutControls(`${message}${cause}`)}\n`)
    },
  }
}

type CommandCall =
  | { readonly command: 'help' }
  | { readonly command: 'check'; readonly options: CheckOptions }
  | { readonly command: 'preview'; readonly options: PreviewOptions; readonly isWatching: boolean }
  | { readonly command: 'publish'; readonly options: PublishOptions }
  | { readonly command: 'erase'; readonly options: EraseOptions }

/** Undefined when the arguments are not a valid call. */
function parse([command, ...args]: readonly string[]): CommandCall | undefined {
  try {
    if (command === 'check') return parseCheck(args)
    if (command === 'preview') return parsePreview(args)
    if (command === 'publish') return parsePublish(args)
    if (command === 'erase') return parseErase(args)
    return ['help', '--help', '-h'].includes(command ?? '') && args.length === 0 ? { command: 'help' } : undefined
  } catch (error) {
    // An unknown option, or an option without its value.
    const code = error instanceof TypeError && 'code' in error ? error.code : undefined
    if (typeof code === 'string' && code.startsWith('ERR_PARSE_ARGS_')) return undefined
    throw error
  }
}

function parseCheck(args: readonly string[]): CommandCall | undefined {
  const options = { ...HELP, 'no-render': { type: 'boolean' } } as const
  const { values, positionals } = parseArgs({ args: [...args], options, allowPositionals: true })
  const [dir, ...more] = positionals
  if (values.help === true) return { command: 'help' }
  if (dir === undefined || more.length > 0) return undefined
  return { command: 'check', options: { dir, isRendering: values['no-render'] !== true } }
}

function parsePreview(args: readonly string[]): CommandCall | undefined {
  const options = {
    ...HELP,
    data: { type: 'string' },
    engine: { type: 'string' },
    output: { type: 'string', short: 'o' },
    watch: { type: 'boolean' },
  } as const
  const { values, positionals } = parseArgs({ args: [...args], options, allowPositionals: true })
  const { help, data, engine, output, watch = false } = values
  const [dir, template, ...more] = positionals
  if (help === true) return { command: 'help' }
  if (dir === undefined || template === undefined || more.length > 0) return undefined
  if (engine !== undefined && !isEngine(engine)) return undefined
  const given = {
    ...(data !== undefined && { data }),
    ...(engine && { engine }),
    ...(output !== undefined && { output }),
  }
  return { command: 'preview', options: { dir, template, ...given }, isWatching: watch }
}

function parsePublish(args: readonly string[]): CommandCall | undefined {
  const options = { ...HELP, watch: { type: 'boolean' } } as const
  const { values, positionals } = parseArgs({ args: [...args], options, allowPositionals: true })
  const [dir, ...more] = positionals
  if (values.help === true) return { command: 'help' }
  if (dir === undefined || more.length > 0) return undefined
  return { command: 'publish', options: { dir, isWatching: values.watch === true } }
}

const TEXT = { type: 'string' } as const
const ERASE_TEXTS = { before: TEXT, account: TEXT, reference: TEXT, by: TEXT } as const

function parseErase(args: readonly string[]): CommandCall | undefined {
  const options = { ...HELP, ...ERASE_TEXTS, embedded: { type: 'boolean' } } as const
  const { values, positionals } = parseArgs({ args: [...args], options, allowPositionals: true })
  const { help, by, embedded: isEmbedded = false, ...ofTenant } = values
  if (help === true) return { command: 'help' }
  const what = whatToErase(positionals, ofTenant)
  return what && { command: 'erase', options: { what, isEmbedded, ...(by !== undefined && { by }) } }
}

/** Throws `UsageError` for a value that cannot be right, so that nothing is erased by a misspelling. */
function whatToErase(
  [kind, ...names]: readonly string[],
  { before, account, reference }: { readonly before?: string; readonly account?: string; readonly reference?: string },
): EraseOptions['what'] | undefined {
  if (kind === 'render' && names.length > 0 && [before, account, reference].every((each) => each === undefined)) {
    if (names.length > ERASED_BY_ID_MAX) throw new UsageError(`name ${ERASED_BY_ID_MAX} renders at most`)
    return { renders: names.map((name) => parseRenderId(name) ?? throwUsage(`${name} is not the id of a render`)) }
  }
  const [tenant, ...more] = names
  if (kind !== 'tenant' || tenant === undefined || more.length > 0) return undefined
  const at = before === undefined ? undefined : parseInstant(before)
  if (before !== undefined && at === undefined) throw new UsageError(`--before must be ${INSTANT_FORMAT}`)
  if (reference === '') throw new UsageError('--reference must not be empty')
  return {
    tenant,
    ...(at !== undefined && { before: at }),
    ...(account !== undefined && { account }),
    ...(reference !== undefined && { reference }),
  }
}

function throwUsage(message: string): never {
  throw new UsageError(message)
}

function isEngine(name: string): name is Engine {
  return ENGINES.some((engine) => engine === name)
}
