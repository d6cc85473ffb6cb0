/** The reason of OpenSSL in an error of Node: one of a fixed list of sentences, without input. */

/** An entry of OpenSSL's error stack: error number, library, and reason. */
const ENTRY = /^error:[0-9A-F]{8}:[a-z0-9 ]{1,60}::([a-z0-9 ]{1,80})$/
const REASON = /^[a-z0-9 ]{1,80}$/

/** Returns the reason of OpenSSL: on Node 20 a member of the error, on Node 24 the end of its error stack. */
export function openSslReason(error: unknown): string | undefined {
  if (!(error instanceof Error)) return undefined
  const {
    code,
    reason,
    opensslErrorStack: stack,
  } = error as Error & { readonly code?: unknown; readonly reason?: unknown; readonly opensslErrorStack?: unknown }
  if (typeof code === 'string' && code.startsWith('ERR_OSSL') && typeof reason === 'string') {
    return REASON.test(reason) ? reason : undefined
  }
  const last: unknown = Array.isArray(stack) ? stack.at(-1) : undefined
  return typeof last === 'string' ? ENTRY.exec(last)?.[1] : undefined
}
