/** Polls for conditions that send no notification. Anything else should be awaited. */
import { setTimeout as sleep } from 'node:timers/promises'

const ASK_EVERY_MS = 50
/** Over two minutes of polls. That is far longer than any wait here, as the machine may be shared, and within the limit of every test. */
const ASKS_MAX = 2400

export interface Poll<T> {
  /** Asks until the answer is wanted, and resolves with it. Rejects with the last answer after `ASKS_MAX` asks. */
  until(isWanted: (answer: T) => boolean): Promise<T>
}

/** Prepares to ask. Nothing is asked before `until`. */
export function poll<T>(ask: () => T | Promise<T>): Poll<T> {
  return {
    async until(isWanted) {
      let answer = await ask()
      for (let asks = 1; !isWanted(answer); asks++) {
        if (asks === ASKS_MAX) throw new Error(`it never came about; at last: ${JSON.stringify(answer)}`)
        await sleep(ASK_EVERY_MS)
        answer = await ask()
      }
      return answer
    },
  }
}
