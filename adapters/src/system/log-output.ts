/**
 * The output of the log: a stream whose reader may stop reading. Lines are written at once while the reader keeps up. Else they wait in
 * memory up to a limit, and no caller waits for them. Lines beyond the limit are dropped and counted.
 *
 * None of pino's own destinations does this. The synchronous one blocks the process at a full pipe. The asynchronous one leaves a thread of
 * Node in `write`, for which `process.exit` then waits without end; its flush at the exit does the same.
 */
import type { Writable } from 'node:stream'

/**
 * Maximum size of the waiting lines: more than the ten thousand lines that a start with a large folder of faulty manifests writes at once.
 * Above the `writableHighWaterMark` of any stream of Node, so that a full stream emits `drain`.
 */
export const LOG_WAITING_BYTES_MAX = 4 * 1024 * 1024

export interface LogOutput {
  /** Never throws, and never waits. */
  write(line: string): void
  /** Counted since the start. */
  droppedLines(): number
}

/**
 * After the first dropped line, all further ones are dropped until everything that waits is written. So the log has one gap, not many.
 * `tellGap` is called at its end, so that a line in that place says how many are missing.
 */
export function openLogOutput(stream: Writable, tellGap: (lines: number) => void): LogOutput {
  let dropped = 0
  let gap = 0
  const countLost = (error?: Error | null) => {
    if (error) dropped++
  }
  const endGap = () => {
    const lines = gap
    gap = 0
    if (lines > 0) tellGap(lines)
  }
  // A closed reader or a full disk must not end the process. `countLost` counts each line that is lost by that.
  if (stream.listenerCount('error', ignore) === 0) stream.on('error', ignore)
  return {
    droppedLines: () => dropped,
    write(line) {
      if (gap > 0 && stream.writableLength === 0) endGap()
      if (gap === 0 && stream.writableLength <= LOG_WAITING_BYTES_MAX) {
        stream.write(line, countLost)
        return
      }
      dropped++
      if (gap++ === 0) stream.once('drain', endGap)
    },
  }
}

function ignore(): void {}

/** Resolves when everything that waits in the stream is written or has failed. It may never resolve. */
export async function flushed(stream: Writable): Promise<void> {
  while (stream.writableLength > 0) await new Promise((resolve) => stream.write('', resolve))
}
