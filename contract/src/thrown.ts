/** Reads what was thrown, which may be anything. */

/** The message, for people. */
export function messageOf(thrown: unknown): string {
  return thrown instanceof Error ? thrown.message : String(thrown)
}

/** Did the operating system report it, such as a reset or refused connection? Then it is not of this process's own making, as an abort is. */
export function isSystemError(thrown: unknown): boolean {
  return thrown instanceof Error && 'syscall' in thrown
}

/** The code of an error of Node, such as `ECONNREFUSED`. Unlike the message it holds no address or path. */
export function codeOf(thrown: unknown): string | undefined {
  return thrown instanceof Error && 'code' in thrown && typeof thrown.code === 'string' ? thrown.code : undefined
}
