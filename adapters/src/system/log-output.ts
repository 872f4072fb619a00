/**
 * Where the log goes: a stream whose reader may stand still. Lines are written at once while the reader keeps up. Else they wait, as
 * many as fit, and nobody waits for them; lines beyond that are dropped and counted.
 *
 * Of pino's own destinations none does this. The synchronous one stops the process at a full pipe. The asynchronous one leaves a
 * thread of Node in `write`, for which `process.exit` then waits without end; and its flush at the exit does the same.
 */
import type { Writable } from 'node:stream'

/**
 * How much waits for a reader that is behind: ten thousand lines and more, as a start on a large folder of faulty manifests writes at
 * once. Above the `writableHighWaterMark` of any stream of Node, so that a stream that is full tells when it is empty.
 */
export const LOG_WAITING_BYTES_MAX = 4 * 1024 * 1024

export interface LogOutput {
  /** Takes a line. Never throws, and never waits. */
  write(line: string): void
  /** Lines that were dropped since the start. */
  droppedLines(): number
}

/**
 * An output into `stream`. From the first line that is dropped on, all are, until everything that waited is written: so a gap in the
 * log is one gap. `tellGap` is called at its end, for a line in its place that says how many are missing.
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
  // A reader that has gone, or a disk that is full, ends no process. Each line it costs is told to `countLost`.
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

/** Resolves when everything that waits in a stream of the process is written, or could not be. It may be never. */
export async function flushed(stream: Writable): Promise<void> {
  while (stream.writableLength > 0) await new Promise((resolve) => stream.write('', resolve))
}
