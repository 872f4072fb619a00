/** Reads what was thrown, which may be anything. */

export function messageOf(thrown: unknown): string {
  return thrown instanceof Error ? thrown.message : String(thrown)
}

/**
 * Whether the other side or the network broke or refused a socket's connection, also during a TLS handshake. False if this process ended
 * the connection itself, for example by an abort, or because it does not trust the certificate.
 */
export function isBrokenConnection(thrown: unknown): boolean {
  if (thrown instanceof Error && 'syscall' in thrown) return true
  const code = codeOf(thrown)
  // Node reports a close during the handshake without a system call, and the refusals of the other side with the codes of OpenSSL.
  return code === 'ECONNRESET' || code?.startsWith('ERR_SSL_') === true
}

/** Such as `ECONNREFUSED`. Unlike the message, it has no address or path. */
export function codeOf(thrown: unknown): string | undefined {
  return thrown instanceof Error && 'code' in thrown && typeof thrown.code === 'string' ? thrown.code : undefined
}
