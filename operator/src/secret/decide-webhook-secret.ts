/**
 * Decides about the webhook secret of a Tenant without `webhookSecretRef`. Only the Secret holds the value, so an edit by hand counts from
 * then on. The Secret also keeps the previous value, so that settings rebuilt from the Secret alone contain it. Pure.
 */

import { WEBHOOK_SECRET_OVERLAP_MS } from '@platen/contract/domain/limit.ts'
import type { TenantResource } from '@platen/contract/domain/resource.ts'
import { ROTATE_ANNOTATION, type TenantStatus } from '@platen/contract/domain/resource-spec.ts'
import { isWebhookSecret, WEBHOOK_SECRET_FORMAT } from '@platen/contract/domain/webhook-secret.ts'
import { parseInstant } from '@platen/lib/instant.ts'
import { labelOf } from '@platen/settings/compile/condition.ts'
import type { ClusterSecret, SecretDecision, SecretLocation } from './cluster-secret.ts'
import { type DecisionInput, decideSecret, type Generated, type Refusal, type Values } from './decide-secret.ts'
import { overlapEndIn, servedRotations, withServed } from './rotation.ts'

export type WebhookSecretStatus = Pick<TenantStatus, 'webhookSecret' | 'rotation'>

export interface WebhookSecretDecisionInput extends DecisionInput<WebhookSecretStatus> {
  readonly resource: TenantResource
  readonly place: SecretLocation
  readonly makeSecret: () => string
}

type WebhookSecretDecision = SecretDecision<PlainSecret, WebhookSecretStatus>

/** A `FoundSecret` that is not sealed. */
export type PlainSecret = { readonly current: string; readonly replaced?: string } | Refusal

export function decideWebhookSecret(input: WebhookSecretDecisionInput): WebhookSecretDecision {
  return decideSecret(generatedSecret(input), input)
}

function generatedSecret(input: WebhookSecretDecisionInput): Generated<string, PlainSecret, WebhookSecretStatus> {
  const { resource, place, status, makeSecret } = input
  const { webhookSecret: told } = status
  const wasTold = told?.namespace === place.namespace && told.name === place.name
  return {
    resource,
    noun: 'secret',
    place,
    overlapMs: WEBHOOK_SECRET_OVERLAP_MS,
    previousEntry: 'previousSecret',
    advice: {
      taken: 'remove it',
      // `compile` adds what happens meanwhile: that depends on what was published.
      lost: `restore it, or request a new one with the annotation ${ROTATE_ANNOTATION} on ${labelOf(resource)}`,
    },
    isOurs: () => wasTold,
    known: (own) => ({ ...knownOf(input, own), wasMade: own !== undefined || wasTold }),
    make: makeSecret,
    faultIn: (_own, { current }) =>
      current === undefined ? `does not have ${WEBHOOK_SECRET_FORMAT} in its key secret` : undefined,
    dataOf: ({ current, previous }) => ({
      ...(current !== undefined && { secret: current }),
      previousSecret: previous?.value,
    }),
    foundOf: (current, previous) => ({ current, ...(previous && { replaced: previous.value }) }),
    refused: (refusal) => refusal,
    statusOf({ current }, rotation) {
      const webhookSecret = current === undefined ? told : place
      return { ...(webhookSecret && { webhookSecret }), ...(rotation !== undefined && { rotation }) }
    },
  }
}

function knownOf({ status, now }: WebhookSecretDecisionInput, own: ClusterSecret | undefined): Values<string> {
  const served = withServed(
    own === undefined ? [] : servedRotations(own.annotations),
    parseInstant(status.rotation ?? ''),
  )
  if (own === undefined) return { served }
  const { secret, previousSecret } = own.data
  const until = overlapEndIn(own.annotations)
  const isLasting =
    previousSecret !== undefined && isWebhookSecret(previousSecret) && until !== undefined && now < until
  return {
    ...(secret !== undefined && isWebhookSecret(secret) && { current: secret }),
    ...(isLasting && { previous: { value: previousSecret, until } }),
    served,
  }
}
