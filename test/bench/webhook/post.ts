/** What both sides of the webhook benchmark post, and where. */
import { HOST } from '../../topology/host.ts'

/** Receivers that answer at once. */
export const GOOD_RECEIVERS = 100

/** As many bytes as the body of a render that succeeded. */
export const BODY = JSON.stringify({
  id: '019aa6f1-ecf5-7e3d-943a-9b0c5f8e2d71',
  status: 'succeeded',
  duration_ms: 412,
  bytes: 48_213,
  artifact_id: '0'.repeat(64),
})

/** Address of one of many receivers on one port: all of 127.0.0.0/8 is this machine. */
export function urlOf(receiver: number, port: number): string {
  return `http://127.1.0.${1 + receiver}:${port}/hook`
}

/** The same by HTTPS, where receivers are distinguished by their names. */
export function secureUrlOf(receiver: number, port: number): string {
  return `https://r${receiver}.${HOST}:${port}/hook`
}
