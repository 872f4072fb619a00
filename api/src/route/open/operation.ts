/** Sections for the operations of the OpenAPI document, each with parameters, bodies, answers and a command that calls it. */
import { type Html, html, joined, prose } from './html.ts'
import { nameOf, type Schema, table, typeOf } from './schema.ts'

export interface Operation {
  readonly operationId: string
  readonly summary: string
  readonly description: string
  readonly tags: readonly string[]
  readonly security: readonly object[]
  readonly parameters?: readonly Parameter[]
  readonly requestBody?: { readonly content: Readonly<Record<string, Media>> }
  readonly responses: Readonly<Record<string, Answer>>
}
interface Parameter {
  readonly name: string
  readonly in: string
  readonly required?: boolean
  readonly description?: string
  readonly schema: Schema
}
interface Answer {
  readonly description: string
  readonly headers?: Readonly<Record<string, { readonly description: string }>>
  readonly content?: Readonly<Record<string, Media>>
}
interface Media {
  readonly schema: Schema
  readonly example?: unknown
  readonly examples?: Readonly<Record<string, Example>>
}
interface Example {
  readonly summary?: string
  readonly value: unknown
}

export interface Route {
  readonly method: string
  /** Absent for requests that the service sends. */
  readonly path?: string
  readonly operation: Operation
}

export function operationSection(route: Route, origin: string): Html {
  const { method, path, operation } = route
  const { operationId, summary, description, security, parameters = [], requestBody, responses } = operation
  const isOpen = path !== undefined && security.length === 0
  const access = isOpen ? html` <span class="limits">without a key</span>` : undefined
  return html`<article id="${operationId}">
<h3><a class="self" href="#${operationId}">${summary}</a></h3>
<p><span class="method ${method}">${method.toUpperCase()}</span> <code>${path ?? 'your receiver'}</code>${access}</p>
<p>${prose(description)}</p>
${path === undefined ? undefined : html`<pre tabindex="0"><code>${commandOf({ ...route, path }, origin)}</code></pre>`}
${parameters.length === 0 ? undefined : html`<h4>Parameters</h4>${table(['name', 'type', 'meaning'], parameters.map(parameterRow))}`}
${requestBody === undefined ? undefined : html`<h4>Body</h4>${Object.entries(requestBody.content).map(body)}`}
<h4>Answers</h4>
${table(['status', 'body', 'meaning'], Object.entries(responses).map(answerRow))}
</article>`
}

function parameterRow({ name, in: place, required = false, schema, description }: Parameter): readonly Html[] {
  return [html`${nameOf(name, required)} <span class="limits">in ${place}</span>`, typeOf(schema), prose(description)]
}

function body([type, media]: readonly [string, Media]): Html {
  return html`<p>${typeOf(media.schema)} as <code>${type}</code></p>${examplesOf(media)}`
}

function answerRow([status, { description, headers = {}, content = {} }]: readonly [string, Answer]): readonly Html[] {
  const media = Object.entries(content)
  const names = Object.keys(headers)
  const isRefusal = Number(status) >= 400
  return [
    html`<code>${status}</code>`,
    joined(
      media.map(([type, { schema }]) => (type === 'application/json' ? typeOf(schema) : html`<code>${type}</code>`)),
      ', ',
    ),
    html`${prose(description)}${isRefusal ? undefined : media.map(([, each]) => examplesOf(each))}${names.length === 0 ? undefined : headerList(headers)}`,
  ]
}

function headerList(headers: Readonly<Record<string, { readonly description: string }>>): Html {
  const entries = Object.entries(headers).map(
    ([name, { description }]) => html`<dt><code>${name}</code></dt><dd>${prose(description)}</dd>`,
  )
  return html`<details><summary>Headers</summary><dl>${entries}</dl></details>`
}

function examplesOf(media: Media): Html {
  const examples = examplesIn(media).map(({ summary, value }, at, { length }) => {
    const title = summary === undefined ? `Example${length > 1 ? ` ${at + 1}` : ''}` : `Example: ${summary}`
    return html`<details><summary>${title}</summary><pre tabindex="0"><code>${textOf(value)}</code></pre></details>`
  })
  return html`${examples}`
}

function examplesIn({ example, examples = {} }: Media): readonly Example[] {
  return [...(example === undefined ? [] : [{ value: example }]), ...Object.values(examples)]
}

/** Lines of JSON are one text. */
function textOf(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value, undefined, 2)
}

/** The command for a shell that has the API key in `KEY`. It sends the first example of the body, and all required parameters. */
export function commandOf({ method, path, operation }: Route & { readonly path: string }, origin: string): string {
  const { requestBody, parameters = [], responses, security } = operation
  const required = parameters.filter((parameter) => parameter.required === true)
  const query = required.filter(({ in: place }) => place === 'query').map(({ name }) => `${name}=$${variable(name)}`)
  const filled = path.replace(/\{(\w+)\}/g, (_, name: string) => `$${variable(name)}`)
  const [sent] = Object.entries(requestBody?.content ?? {})
  const isPdf = responses['200']?.content?.['application/pdf'] !== undefined
  return [
    `curl -sS "${origin}${filled}${query.length > 0 ? `?${query.join('&')}` : ''}"`,
    ...(method === (sent === undefined ? 'get' : 'post') ? [] : [`-X ${method.toUpperCase()}`]),
    ...(security.length > 0 ? ['-H "Authorization: Bearer $KEY"'] : []),
    ...(isPdf ? ['-o document.pdf'] : []),
    ...(sent === undefined ? [] : [`-H 'Content-Type: ${sent[0]}'`, `--data-binary '${quotedExample(sent[1])}'`]),
  ].join(' \\\n  ')
}

/** Quoted for use inside the single quotes of a shell. */
function quotedExample(media: Media): string {
  return textOf(examplesIn(media)[0]?.value ?? {}).replaceAll("'", "'\\''")
}

function variable(name: string): string {
  return name.toUpperCase().replaceAll('-', '_')
}
