import kafkajs from 'kafkajs'
import { expect, test } from 'vitest'
import { isTransient } from './group.ts'

/** An error of kafkajs. Its types lack the arguments. */
const made = (kind: 'LockTimeout' | 'GroupCoordinatorNotFound' | 'SASLAuthenticationError'): Error =>
  Reflect.construct(kafkajs[`KafkaJS${kind}`], ['a reason'])
const typed = (type: string) => Object.assign(new Error(type), { type, retriable: false })

test.for([
  [true, 'its requests wait for each other', made('LockTimeout')],
  [true, 'no broker names the coordinator', made('GroupCoordinatorNotFound')],
  [true, 'credentials are rotated', made('SASLAuthenticationError')],
  [true, 'a second authentication is refused', typed('ILLEGAL_SASL_STATE')],
  [true, 'a member leaves', typed('REBALANCE_IN_PROGRESS')],
  [true, 'that was the last try', new Error('over', { cause: typed('ILLEGAL_SASL_STATE') })],
  [false, 'a topic may not be read', typed('TOPIC_AUTHORIZATION_FAILED')],
  [false, 'the code has a defect', new TypeError('undefined is not a function')],
] as const)('says %s where %s', ([isPassing, , error]) => {
  expect(isTransient(error)).toBe(isPassing)
})
