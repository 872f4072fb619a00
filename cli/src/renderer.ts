/**
 * The real engines, for the commands. They open when first needed, warm up before the first deadline begins, and close with all their
 * processes.
 */

import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { isFailureCode, ServiceError } from '@platen/contract/domain/error.ts'
import type { Failure } from '@platen/contract/domain/render.ts'
import { mintRenderId, RENDER_ID_RANDOM_BYTES } from '@platen/contract/domain/render-id.ts'
import type { Engine } from '@platen/contract/domain/render-options.ts'
import type { TemplateChecker } from '@platen/contract/domain/template-check.ts'
import type { Asset, Limits, TemplateCode, TemplateSource, TenantId } from '@platen/contract/domain/tenant.ts'
import { DEFAULT_LIMITS } from '@platen/contract/domain/tenant.ts'
import { type Warned, warnedOf } from '@platen/contract/domain/warning.ts'
import type { Egress } from '@platen/contract/port/egress.ts'
import type { JsonObject } from '@platen/lib/brand.ts'
import type { Clock } from '@platen/lib/clock.ts'
import type { Ids } from '@platen/lib/ids.ts'
import type { Log } from '@platen/lib/log.ts'
import { openEngines } from '@platen/renderer/engine/open-engines.ts'
import { checkInTurns } from '@platen/renderer/engine/template-checker.ts'
import type { ConsoleLine, RenderEngine, Rendering, RenderWork } from '@platen/renderer/port/engine.ts'
import { digestOf } from '@platen/settings/compile/digest.ts'
import { UsageError } from './diagnostic/diagnostic.ts'

export interface RendererPorts {
  readonly clock: Clock
  readonly ids: Ids
  readonly log: Log
  /** Path of the browser. `none` = no browser; absent = an installed one is searched. */
  readonly chromium: string | undefined
  readonly egress: Egress
}

export interface PreviewInput {
  readonly source: TemplateSource
  readonly assets: readonly Asset[]
  readonly tenant: TenantId
  /** The tenant's. The deadline applies here, too. */
  readonly limits: Limits
  readonly data: JsonObject
}

export type Preview = (
  | (Pick<Rendering, 'pdf' | 'pages'> & Warned & { readonly durationMs: number })
  | { readonly failure: Failure }
) & {
  /** Includes lines from before a failure. */
  readonly console: readonly ConsoleLine[]
}

export interface Renderer extends AsyncDisposable {
  /** The publish check, with warnings. Tenants do not take turns, because all templates are the caller's. */
  readonly check: TemplateChecker['check']
  /** Throws `UsageError` when the named file is not a browser. */
  hasHtml(): Promise<boolean>
  /** Has the tenant's deadline. Rejects with the signal's reason, but never for a fault of the template. */
  render(input: PreviewInput, engine: Engine, signal: AbortSignal): Promise<Preview>
}

/** Opens no engine yet. Each engine renders up to `slots` documents at the same time. */
export function openRenderer(ports: RendererPorts, { slots }: { slots: number }): Renderer {
  const stack = new AsyncDisposableStack()
  const closing = new AbortController()
  const opening = new Map<Engine | 'threads', Promise<unknown>>()
  const openOnce = <Value>(name: Engine | 'threads', open: () => Promise<Value>): Promise<Value> => {
    // A name always has the type of its only caller.
    const opened = (opening.get(name) as Promise<Value> | undefined) ?? open()
    opening.set(name, opened)
    return opened
  }
  const engines = () =>
    openOnce('threads', async () => {
      const profileDir = await mkdtemp(join(tmpdir(), 'platen-'))
      stack.defer(() => rm(profileDir, { recursive: true, force: true }))
      const options = { ...ports, slots, profileDir }
      return stack.use(await openEngines(options).catch(throwUsageError))
    })
  const engineOf = (engine: Engine) =>
    openOnce(engine, async () => {
      const { openReactPdf, openHtml } = await engines()
      if (engine === 'html' && openHtml === undefined) throw new UsageError(NO_CHROMIUM)
      const opened = stack.use(engine === 'html' && openHtml !== undefined ? await openHtml() : openReactPdf())
      // When this fails, the first document fails too, and reports why.
      await opened.render(workOf(BLANK_DOCUMENT, ports), closing.signal).catch(() => undefined)
      return opened
    })
  return {
    ...checkInTurns({
      run: async (request, signal) => (await engines()).check({ ...request, isWarned: true }, signal),
      turns: { permits: slots, permitsPerTenant: slots },
      clock: ports.clock,
    }),
    hasHtml: async () => (await engines()).openHtml !== undefined,
    render: async (input, engine, signal) => render({ ...ports, engine: await engineOf(engine) }, input, signal),
    async [Symbol.asyncDispose]() {
      closing.abort(new Error('the renderer was closed'))
      await Promise.allSettled(opening.values())
      await stack.disposeAsync()
    },
  }
}

export const NO_CHROMIUM = 'there is no Chromium to render html: renderer/install-chromium.sh installs it'

/** Opening the engines throws only because of the named browser. */
function throwUsageError(cause: unknown): never {
  throw cause instanceof Error ? new UsageError(cause.message, { cause }) : cause
}

async function render(
  { engine, ...ports }: RendererPorts & { readonly engine: RenderEngine },
  subject: PreviewInput,
  signal: AbortSignal,
): Promise<Preview> {
  const { clock } = ports
  const seconds = subject.limits.renderTimeoutSeconds
  const deadline = clock.timeout(seconds * 1000)
  const begunAt = clock.monotonic()
  const console: ConsoleLine[] = []
  const onConsole = (line: ConsoleLine) => void console.push(line)
  const work = { ...workOf(subject, ports), ...(engine.name === 'react_pdf' && { onConsole }) }
  try {
    const { pdf, pages, warnings } = await engine.render(work, AbortSignal.any([signal, deadline]))
    return { pdf, pages, ...warnedOf(warnings), console, durationMs: clock.monotonic() - begunAt }
  } catch (error) {
    signal.throwIfAborted()
    if (deadline.aborted)
      return {
        console,
        failure: { code: 'render_timeout', message: `the render did not finish within its deadline of ${seconds} s` },
      }
    return { console, failure: failureOf(error) }
  }
}

function failureOf(error: unknown): Failure {
  if (error instanceof ServiceError && isFailureCode(error.code)) return { code: error.code, message: error.message }
  const message = error instanceof Error ? (error.stack ?? error.message) : String(error)
  return { code: 'internal', message: `this is a defect of Platen, not of the template: ${message}` }
}

const KEY_BYTES = 32

/** Two previews of equal input have equal bytes. */
const PREVIEW_DATE = Date.UTC(2000, 0, 1)

function workOf({ source, assets, tenant, limits, data }: PreviewInput, { clock, ids }: RendererPorts): RenderWork {
  const minted = { now: clock.now(), random: ids.random(RENDER_ID_RANDOM_BYTES) }
  return {
    render: mintRenderId({ account: tenant, environment: 'live' }, [ids.random(KEY_BYTES)], minted),
    tenant,
    digest: digestOf(source),
    template: source,
    assets,
    data: new TextEncoder().encode(JSON.stringify(data)),
    options: source.options,
    date: PREVIEW_DATE,
    javascriptEnabled: limits.javascriptEnabled,
    isSandbox: false,
  }
}

/** Warms up an engine: its threads or its browser. */
const BLANK_DOCUMENT: PreviewInput = {
  source: {
    code: 'blank' as TemplateCode,
    name: 'Blank',
    version: 1,
    options: {},
    reactPdf:
      "import { Document, Page } from '@react-pdf/renderer'\nexport default () => <Document><Page /></Document>\n",
    html: { template: '<p></p>', javascript: false },
  },
  assets: [],
  tenant: '' as TenantId,
  limits: DEFAULT_LIMITS,
  data: {},
}
