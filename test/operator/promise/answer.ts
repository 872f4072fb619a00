/** What API processes answer to the requests that show what they enforce, and what they have to. */
import { type LaneModel, STEADY, type TenantModel } from './lane.ts'

/** API processes there are. */
export const PROCESSES = 3

/** A request, and the words for each answer. */
interface Question {
  readonly name: string
  readonly key: string
  readonly body: object
  readonly wanted: string
  /** What it may be as well. */
  readonly also?: string
}

/** What a process answers that is not as it has to; none where it enforces all that is declared. */
export async function wrongAnswers(url: string, model: LaneModel): Promise<readonly string[]> {
  const questions = questionsOf(model)
  const answers = await Promise.all(questions.map((question) => ask(url, question)))
  return questions.flatMap(({ name, wanted, also }, at) => {
    const answer = answers[at]
    return answer === wanted || answer === also ? [] : [`${name}: ${answer} instead of ${wanted}`]
  })
}

/** How many there are to one process. */
export function questionsCount(model: LaneModel): number {
  return questionsOf(model).length
}

function questionsOf(model: LaneModel): readonly Question[] {
  return model.tenants.flatMap((tenant) =>
    tenant.keys.flatMap((key) => {
      const refusal = !key.isDeclared || key.isSuspended ? 'UNAUTHORIZED' : refusalOf(tenant)
      // It is refused before anything is asked of the limiter, by whichever comes first.
      const html = { template: tenant.template.name, engine: 'html', mode: 'async', data: {} }
      // It is taken, and its answer tells the limit.
      const taken = { template: STEADY, engine: 'react_pdf', mode: 'async', data: {} }
      return [
        { name: `html with ${key.name}`, key: key.text, body: html, wanted: refusal ?? htmlAnswer(model, tenant) },
        {
          name: `with ${key.name}`,
          key: key.text,
          body: taken,
          wanted: refusal ?? rateAnswer(rateOf(model, tenant)),
          // A process that Redis answers too late goes by its share of the same limit.
          also: refusal ?? rateAnswer(Math.floor(rateOf(model, tenant) / PROCESSES)),
        },
      ]
    }),
  )
}

function refusalOf({ isDeclared, isOpen, suspendedReason }: TenantModel): string | undefined {
  if (!isDeclared || !isOpen) return 'UNAUTHORIZED'
  return suspendedReason && `PAYMENT_REQUIRED The subscription is suspended: ${suspendedReason}.`
}

function htmlAnswer({ plan }: LaneModel, { template }: TenantModel): string {
  if (!template.isPublished) return 'TEMPLATE_NOT_FOUND'
  return plan.hasHtml ? `needs ${template.tag}` : 'PAYMENT_REQUIRED The html engine is not part of the plan.'
}

function rateOf({ plan }: LaneModel, { asyncRate = plan.asyncRate }: TenantModel): number {
  return asyncRate
}

function rateAnswer(rate: number): string {
  return rate === 0 ? 'RATE_LIMITED' : `taken of ${rate}`
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
