/**
 * Authenticates each new connection to a broker with the current credentials: kafkajs reads the options when it authenticates. During a
 * rotation, broker and process may know the new credentials at different times. So a process that was connected before retries after a
 * refusal: see `isTransient`.
 */
import type { Clock } from '@platen/lib/clock.ts'
import { messageOf } from '@platen/lib/thrown.ts'
import kafkajs, { type SASLOptions } from 'kafkajs'
import { type OauthClient, oauthTokens } from './oauth-token.ts'

export interface KafkaSasl {
  readonly mechanism: 'plain' | 'scram-sha-256' | 'scram-sha-512' | 'oauthbearer'
  /** The user, or the client of `oauth`. */
  readonly username: string
  readonly password: string
  /** Where `oauthbearer` gets its tokens. */
  readonly oauth?: Pick<OauthClient, 'tokenUrl' | 'scope'> | undefined
}

interface SaslOptions {
  readonly mechanism: KafkaSasl['mechanism']
  /** Called for each new connection. */
  readonly latest: () => KafkaSasl
  readonly clock: Clock
}

/** One for each client: kafkajs keeps state in it. */
export function saslOf({ mechanism, latest, clock }: SaslOptions): SASLOptions {
  if (mechanism !== 'oauthbearer')
    return {
      mechanism,
      get username() {
        return latest().username
      },
      get password() {
        return latest().password
      },
    }
  const token = oauthTokens(clock)
  return {
    mechanism,
    async oauthBearerProvider() {
      const { username, password, oauth } = latest()
      if (oauth === undefined) throw new TypeError('oauthbearer without a token endpoint')
      try {
        return { value: await token({ ...oauth, clientId: username, clientSecret: password }) }
      } catch (cause) {
        // kafkajs retries this error, on another connection.
        throw new kafkajs.KafkaJSConnectionError(messageOf(cause))
      }
    },
  }
}
