/**
 * Liquid: a tenant's html template and its data in, HTML out. Runs in a render thread, which a deadline can end from outside;
 * here everything has a limit of its own (source, allocations, time, output), and no template reads a file, another template
 * or anything of an object but its own properties. Pure: equal work gives equal HTML.
 */

import { ServiceError } from '@platen/contract/error.ts'
import {
  HTML_BYTES_MAX,
  LIQUID_ALLOCATIONS_MAX,
  LIQUID_MS_MAX,
  TEMPLATE_SOURCE_BYTES_MAX,
} from '@platen/contract/limit.ts'
import { type Emitter, Liquid, LiquidError, type Template } from 'liquidjs'
import type { RenderWork } from '../engine/engine.ts'
import { IMPURE_FILTERS, localeFilters } from './filter.ts'

/** What goes to the browser. Header and footer are Chromium's print templates: `class="pageNumber"` and the like are filled by it. */
export interface FilledHtml {
  readonly html: string
  readonly header?: string
  readonly footer?: string
}

/** Tags that would read another file: a template is one file, whatever stands around it. */
const FILE_TAGS = ['include', 'render', 'layout', 'block']

/**
 * Fills the html source of `work`. The fields of its data are the top-level variables; `options` beside them are the render's
 * options, and hide a field of that name. Every value is escaped unless the filter `raw` ends its expression.
 * Throws `ServiceError` with `template_error`, the message opening with the place: `template.html:3:14: …`.
 */
export function fillHtml(work: RenderWork): FilledHtml {
  const source = work.template.html
  if (source === undefined) throw new ServiceError('template_error', 'the template has no html source')
  const liquid = openLiquid()
  const scope = { ...work.data, options: work.options }
  const fill = (text: string, name: string) => fillOne(liquid, { text, name, scope })
  return {
    html: fill(source.template, 'template.html'),
    ...(source.header === undefined ? {} : { header: fill(source.header, 'header.html') }),
    ...(source.footer === undefined ? {} : { footer: fill(source.footer, 'footer.html') }),
  }
}

interface Part {
  readonly text: string
  readonly name: string
  readonly scope: object
}

function fillOne(liquid: Liquid, { text, name, scope }: Part): string {
  try {
    const html = String(liquid.renderSync(liquid.parse(text), scope))
    if (Buffer.byteLength(html) > HTML_BYTES_MAX) throw new RangeError(tooLong)
    return html
  } catch (cause) {
    throw new ServiceError('template_error', `${placeOf(cause, name)}: ${reasonOf(cause)}`, { cause })
  }
}

function openLiquid(): Liquid {
  const liquid = new Liquid({
    // An empty set of named templates: nothing here reaches a file system even if a tag were forgotten below.
    templates: {},
    outputEscape: 'escape',
    ownPropertyOnly: true,
    strictFilters: true,
    timezoneOffset: 0,
    locale: 'en-US',
    parseLimit: TEMPLATE_SOURCE_BYTES_MAX,
    renderLimit: LIQUID_MS_MAX,
    memoryLimit: LIQUID_ALLOCATIONS_MAX,
  })
  for (const [name, filter] of Object.entries(localeFilters())) liquid.registerFilter(name, filter)
  for (const name of IMPURE_FILTERS) liquid.unregisterFilter(name)
  for (const name of FILE_TAGS) {
    liquid.registerTag(name, {
      parse: () => {
        throw new Error(`the tag ${name} is not available: a template is one file`)
      },
      render: () => '',
    })
  }
  boundOutput(liquid)
  return liquid
}

/**
 * LiquidJS limits what filters and ranges allocate, but not what is written: nested loops would fill the memory of the thread.
 * All writing goes through this one method, `capture` included.
 */
function boundOutput(liquid: Liquid): void {
  const { renderer } = liquid
  const render = renderer.renderTemplates.bind(renderer)
  renderer.renderTemplates = (templates: Template[], context, emitter = boundedEmitter()) =>
    render(templates, context, emitter)
}

const tooLong = `the HTML is longer than ${HTML_BYTES_MAX / 1024 / 1024} MiB`

function boundedEmitter(): Emitter {
  return {
    buffer: '',
    write(value: unknown) {
      this.buffer += textOf(value)
      if (this.buffer.length > HTML_BYTES_MAX) throw new RangeError(tooLong)
    },
  }
}

/** A value as Liquid prints it, with JSON for what it would print as `[object Object]`. Only `raw` lets anything but a string come here. */
function textOf(value: unknown): string {
  if (value === null || value === undefined) return ''
  if (typeof value === 'string') return value
  return Array.isArray(value) ? value.map(textOf).join('') : (JSON.stringify(value) ?? '')
}

function placeOf(error: unknown, name: string): string {
  if (!LiquidError.is(error)) return name
  const [line, column] = error.token.getPosition()
  return `${name}:${line}:${column}`
}

/** LiquidJS ends its messages with the place, which stands at the front of ours, and names its limits without their values. */
const LIMIT_REASONS: Readonly<Record<string, string>> = {
  'parse length limit exceeded': `the source is longer than ${TEMPLATE_SOURCE_BYTES_MAX / 1024} KiB`,
  'template render limit exceeded': `filling took longer than ${LIQUID_MS_MAX / 1000} seconds`,
  'memory alloc limit exceeded': `filling made more than ${LIQUID_ALLOCATIONS_MAX} characters and list elements`,
  'Maximum call stack size exceeded': 'tags are nested too deeply',
}

function reasonOf(error: unknown): string {
  const message = error instanceof Error ? error.message.replace(/, line:\d+, col:\d+$/, '') : 'the template failed'
  return LIMIT_REASONS[message] ?? message
}
