/** What API processes answer to the requests that show what they enforce, and what they have to. */
import { STEADY } from './declaration.ts'
import type { KeyModel, LaneModel, TemplateModel, TenantModel } from './model.ts'

export const PROCESSES = 3

interface Question {
  readonly name: string
  readonly key: string
  readonly body: object
  /** Any of these. */
  readonly answers: readonly string[]
}

/** What a process answers that is not as it has to; none where it enforces all that is declared. */
export async function wrongAnswers(url: string, model: LaneModel): Promise<readonly string[]> {
  const questions = questionsOf(model)
  const given = await Promise.all(questions.map((question) => ask(url, question)))
  return questions.flatMap(({ name, answers }, at) => {
    const answer = given[at] ?? ''
    return answers.includes(answer) ? [] : [`${name}: ${answer} instead of ${answers.join(' or ')}`]
  })
}

/** How many there are to one process. */
export function questionsCount(model: LaneModel): number {
  return questionsOf(model).length
}

/** It is taken, and its answer tells the limit. */
const TAKEN = { template: STEADY, engine: 'react_pdf', mode: 'async', data: {} }
const REFUSED = ['UNAUTHORIZED']

function questionsOf({ tenants }: LaneModel): readonly Question[] {
  return tenants.flatMap((tenant) => tenant.keys.flatMap((key) => questionsWith(key, tenant)))
}

function questionsWith({ name, text, replaced, ended, ...key }: KeyModel, tenant: TenantModel): readonly Question[] {
  const isOpen = key.isDeclared && !key.isSuspended
  const answers = isOpen ? answersTo(tenant) : { html: REFUSED, taken: REFUSED }
  // It is refused before anything is asked of the limiter, by whichever comes first.
  const html = { template: tenant.template.name, engine: 'html', mode: 'async', data: {} }
  const questions = [
    { name: `html with ${name}`, key: text, body: html, answers: answers.html },
    { name: `with ${name}`, key: text, body: TAKEN, answers: answers.taken },
    { name: `with what ${name} was before, in its overlap`, key: replaced, body: TAKEN, answers: answers.taken },
    { name: `with what ${name} was before`, key: ended, body: TAKEN, answers: REFUSED },
  ]
  return questions.flatMap(({ key, ...question }) => (key === undefined ? [] : [{ key, ...question }]))
}

/** What whoever has a key is answered. */
function answersTo({ isDeclared, isOpen, limits, suspendedReason, asyncRate, template }: TenantModel) {
  if (!isDeclared || !isOpen || limits === undefined) return { html: REFUSED, taken: REFUSED }
  const suspended = [`PAYMENT_REQUIRED The subscription is suspended: ${suspendedReason}.`]
  if (suspendedReason !== undefined) return { html: suspended, taken: suspended }
  return { html: htmlAnswers(template, limits.hasHtml), taken: rateAnswers(asyncRate ?? limits.asyncRate) }
}

function htmlAnswers({ isDeclared, isPublished, mayLinger, tag }: TemplateModel, hasHtml: boolean): readonly string[] {
  const served = hasHtml ? `needs ${tag}` : 'PAYMENT_REQUIRED The html engine is not part of the plan.'
  if (isDeclared && isPublished) return [served]
  return mayLinger ? ['TEMPLATE_NOT_FOUND', served] : ['TEMPLATE_NOT_FOUND']
}

/** A process that Redis answers too late goes by its share of the same limit. */
function rateAnswers(rate: number): readonly string[] {
  return rate === 0 ? ['RATE_LIMITED'] : [`taken of ${rate}`, `taken of ${Math.floor(rate / PROCESSES)}`]
}

async function ask(url: string, { key, body }: Question): Promise<string> {
  const response = await fetch(`${url}/api/v1/render`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
  // The API's own tests hold its answers against their schemas.
  const answer = (await response.json()) as { readonly error?: Refusal }
  return answer.error === undefined ? `taken of ${response.headers.get('x-ratelimit-limit')}` : wordsOf(answer.error)
}

interface Refusal {
  readonly code: string
  readonly message: string
  readonly details?: readonly { readonly path: string; readonly message: string }[]
}

function wordsOf({ code, message, details = [] }: Refusal): string {
  if (code === 'PAYMENT_REQUIRED') return `${code} ${message}`
  if (code !== 'VALIDATION_FAILED') return code
  const needed = details.map((detail) => /v\d+/.exec(`${detail.path} ${detail.message}`)?.[0])
  return `needs ${needed.join()}`
}
