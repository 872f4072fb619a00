/**
 * Authenticates each new connection to a broker with the credentials of that moment. kafkajs itself keeps those that it was opened with,
 * and ends a consumer for good when they are refused. During a rotation, broker and process may know the new ones at different times; so a
 * process that was connected before tries again.
 */
import type { Clock } from '@platen/contract/port/clock.ts'
import { messageOf } from '@platen/contract/thrown.ts'
import kafkajs, { type Mechanism } from 'kafkajs'
import oauthBearer from 'kafkajs/src/broker/saslAuthenticator/oauthBearer.js'
import plain from 'kafkajs/src/broker/saslAuthenticator/plain.js'
import scram256 from 'kafkajs/src/broker/saslAuthenticator/scram256.js'
import scram512 from 'kafkajs/src/broker/saslAuthenticator/scram512.js'
import { type OauthClient, oauthTokens } from './oauth-token.ts'

export interface KafkaSasl {
  readonly mechanism: 'plain' | 'scram-sha-256' | 'scram-sha-512' | 'oauthbearer'
  /** The user, or the client of `oauth`. */
  readonly username: string
  readonly password: string
  /** Where `oauthbearer` gets its tokens. */
  readonly oauth?: Pick<OauthClient, 'tokenUrl' | 'scope'> | undefined
}

const PROVIDERS = {
  plain,
  'scram-sha-256': scram256,
  'scram-sha-512': scram512,
  oauthbearer: oauthBearer,
} as const

export interface SaslOptions {
  readonly mechanism: KafkaSasl['mechanism']
  /** Returns the credentials for the next connection. */
  readonly latest: () => KafkaSasl
  readonly clock: Clock
  /** Is a refusal tried again? Else it ends the client. */
  readonly isRetried: boolean
}

/** The option of kafkajs. One for each client. */
export function saslOf({ mechanism, latest, clock, isRetried }: SaslOptions): Mechanism {
  const token = oauthTokens(clock)
  const authenticationProvider: Mechanism['authenticationProvider'] = (broker) => ({
    async authenticate() {
      const { username, password, oauth } = latest()
      const oauthBearerProvider = async () => {
        if (oauth === undefined) throw new TypeError('oauthbearer without a token endpoint')
        return { value: await token({ ...oauth, clientId: username, clientSecret: password }) }
      }
      try {
        await PROVIDERS[mechanism]({ username, password, oauthBearerProvider })(broker).authenticate()
      } catch (cause) {
        if (!isRetried) throw cause
        // kafkajs retries this error, on another connection: `kafkajs-patches.ts` closes this one.
        throw new kafkajs.KafkaJSConnectionError(messageOf(cause), { broker: `${broker.host}:${broker.port}` })
      }
    },
  })
  return { mechanism, authenticationProvider }
}
