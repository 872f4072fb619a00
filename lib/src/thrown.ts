/** Reads what was thrown, which may be anything. */

/** The message, for people. */
export function messageOf(thrown: unknown): string {
  return thrown instanceof Error ? thrown.message : String(thrown)
}

/**
 * Is it an error of a socket whose connection the other side or the network broke or did not accept, also during a TLS handshake? Not if
 * this process ended the connection itself, for example by an abort, or because it does not trust the certificate.
 */
export function isBrokenConnection(thrown: unknown): boolean {
  if (thrown instanceof Error && 'syscall' in thrown) return true
  const code = codeOf(thrown)
  // Node reports a close during the handshake without a system call, and the refusals of the other side with the codes of OpenSSL.
  return code === 'ECONNRESET' || code?.startsWith('ERR_SSL_') === true
}

/** The code of an error of Node, such as `ECONNREFUSED`. Unlike the message it holds no address or path. */
export function codeOf(thrown: unknown): string | undefined {
  return thrown instanceof Error && 'code' in thrown && typeof thrown.code === 'string' ? thrown.code : undefined
}
