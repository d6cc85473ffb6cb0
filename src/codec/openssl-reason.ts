/** The reason that OpenSSL gives for an error of Node: one of a fixed list of sentences, which quotes nothing. */

/** An entry of the error stack that Node takes from OpenSSL: its number, the part of OpenSSL, and the reason. */
const ENTRY = /^error:[0-9A-F]{8}:[a-z0-9 ]{1,60}::([a-z0-9 ]{1,80})$/
const REASON = /^[a-z0-9 ]{1,80}$/

/** Returns the reason of OpenSSL: a member of the error on Node 20, the end of its error stack on Node 24. */
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
