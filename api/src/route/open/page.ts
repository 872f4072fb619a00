import { HTTP_ERRORS, type HttpErrorCode, reasonsOf } from '@platen/contract/domain/error.ts'
import { type Html, html, joined, prose } from './html.ts'
import { type Operation, operationSection, type Route } from './operation.ts'
import { anchorOf, type Schema, schemaSection, table } from './schema.ts'

export interface Document {
  readonly info: { readonly title: string; readonly version: string; readonly description: string }
  readonly tags: readonly { readonly name: string; readonly description: string }[]
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
  readonly webhooks: Readonly<Record<string, Readonly<Record<string, Operation>>>>
  readonly components: {
    readonly schemas: Readonly<Record<string, Schema>>
    readonly securitySchemes: { readonly apiKey: { readonly description: string } }
  }
}

export function docsPage(document: Document, { origin, style }: { origin: string; style: string }): string {
  const { info, tags, components } = document
  const groups = tags.map((tag) => ({ ...tag, routes: routesOf(document.paths).filter(isTagged(tag.name)) }))
  const shown = groups.filter(({ routes }) => routes.length > 0)
  const events = routesOf(document.webhooks).map(({ path: _name, ...route }) => route)
  const sections = [
    ...shown.map(({ name, description, routes }) =>
      section(name, titleOf(name), [
        html`<p>${prose(description)}</p>`,
        ...routes.map((route) => operationSection(route, origin)),
      ]),
    ),
    section('events', 'Events', [
      html`<p>What the service sends to you.</p>`,
      ...events.map((route) => operationSection(route, origin)),
    ]),
    section('errors', 'Errors', [errors()]),
    section('schemas', 'Schemas', Object.entries(components.schemas).map(schemaSection)),
  ]
  const page = html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${info.title}: documentation</title>
<link rel="icon" href="data:,">
<style>${{ markup: style }}</style>
</head>
<body>
<a class="skip" href="#start">Skip to the content</a>
${navigation(shown, events, Object.keys(components.schemas))}
<main id="start">
<h1>${info.title}</h1>
<p>${prose(info.description)} Version ${info.version}; <a href="/openapi.json">OpenAPI document</a>.</p>
${introduction(components.securitySchemes.apiKey.description, origin)}
${sections}
</main>
</body>
</html>
`
  return page.markup
}

function introduction(key: string, origin: string): Html {
  return html`<section id="introduction">
<h2><a class="self" href="#introduction">Calling it</a></h2>
<p>The service is at <code>${origin}</code>. Requests have the header <code>Authorization: Bearer</code> with a key. ${prose(key)}</p>
<p>The commands below are for a shell that has the key in a variable, and in others, such as <code>ID</code>, what they are about. One click selects a command.</p>
<pre tabindex="0"><code>export KEY='…'</code></pre>
</section>
`
}

function section(id: string, title: string, content: readonly Html[]): Html {
  return html`<section id="${id}">
<h2><a class="self" href="#${id}">${title}</a></h2>
${content}
</section>
`
}

interface Group {
  readonly name: string
  readonly routes: readonly Route[]
}

function navigation(groups: readonly Group[], events: readonly Route[], schemas: readonly string[]): Html {
  const link = (id: string, text: string) => html`<li><a href="#${id}">${text}</a></li>`
  const operations = (routes: readonly Route[]) =>
    routes.map(({ operation }) => link(operation.operationId, operation.summary))
  const group = (id: string, title: string, items: readonly Html[]) =>
    html`<li><a href="#${id}">${title}</a>${items.length === 0 ? undefined : html`<ul>${items}</ul>`}</li>`
  return html`<nav aria-label="Contents">
<ul>
${group('introduction', 'Calling it', [])}
${groups.map(({ name, routes }) => group(name, titleOf(name), operations(routes)))}
${group('events', 'Events', operations(events))}
${group('errors', 'Errors', [])}
${group(
  'schemas',
  'Schemas',
  schemas.map((name) => link(anchorOf(name), name)),
)}
</ul>
</nav>
`
}

function errors(): Html {
  // The catalog has no other keys.
  const codes = Object.keys(HTTP_ERRORS) as HttpErrorCode[]
  const rows = codes.map((code) => [
    html`<code>${code}</code>`,
    html`${HTTP_ERRORS[code].status}`,
    html`${prose(HTTP_ERRORS[code].summary)} ${HTTP_ERRORS[code].retryable ? 'The same request may succeed later.' : undefined}`,
    joined(
      reasonsOf(code).map((reason) => html`<code>${reason}</code>`),
      ', ',
    ),
  ])
  return html`<p>The body of a refusal is <a href="#${anchorOf('ErrorBody')}">ErrorBody</a>. A request that is refused costs nothing.</p>
${table(['code', 'status', 'meaning', 'reasons'], rows)}`
}

function routesOf(paths: Document['paths']): readonly (Route & { readonly path: string })[] {
  return Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ method, path, operation })),
  )
}

function isTagged(name: string): (route: Route) => boolean {
  return ({ operation }) => operation.tags[0] === name
}

function titleOf(name: string): string {
  return `${name.charAt(0).toUpperCase()}${name.slice(1)}`
}
