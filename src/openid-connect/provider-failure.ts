/** Distinguishes the failures of an OpenID Connect provider: it cannot be reached now, or its answer is invalid. */
import { createUnavailableRefusal, type RefuseUnavailable } from '../http/fetch-json.ts'
import { OutboundError } from '../http/outbound.ts'
import { ProtocolError, refuse } from '../protocol/error.ts'

const MAX_CAUSES = 4
/** The error codes of a token endpoint that are about the provider or this client, and not about the answer. */
const PROVIDER_ERROR_CODES = ['invalid_client', 'unauthorized_client', 'server_error', 'temporarily_unavailable']
/** An answer with an unexpected status, in the words of `openid-client`. */
const UNEXPECTED_STATUS = 'OAUTH_RESPONSE_IS_NOT_CONFORM'
const ERROR_CODE = /^[a-z_]{1,60}$/

/** Refuses with `temporarily_unavailable`. */
export const refuseUnavailableProvider: RefuseUnavailable = createUnavailableRefusal('the sign-in provider')

/** Returns the result of `run`, which prepares the way to the provider. Refuses with `temporarily_unavailable`. */
export async function refuseUnlessReached<T>(run: () => Promise<T>): Promise<T> {
  try {
    return await run()
  } catch (error) {
    if (error instanceof ProtocolError) throw error
    return refuseUnavailableProvider(reasonOf(error), error)
  }
}

/**
 * Returns the result of `run`, which uses `openid-client`. Refuses with `temporarily_unavailable` when the provider
 * cannot be asked or does not take this client, and with `invalid_request` when its answer does not hold. The log gets
 * the sentences of the library, which quote no value.
 */
export async function refuseProviderFailures<T>(run: () => Promise<T>): Promise<T> {
  try {
    return await run()
  } catch (error) {
    if (error instanceof ProtocolError) throw error
    const causeText = reasonOf(error)
    if (causesOf(error).some((cause) => cause instanceof OutboundError))
      return refuseUnavailableProvider(causeText, error)
    const { error: code, code: kind } = error as { readonly error?: unknown; readonly code?: unknown }
    const reason = typeof code === 'string' && ERROR_CODE.test(code) ? `${code}: ${causeText}` : causeText
    if (kind === UNEXPECTED_STATUS || PROVIDER_ERROR_CODES.includes(String(code)))
      return refuseUnavailableProvider(reason, error)
    return refuse('invalid_request', 'the answer of the sign-in provider does not hold; begin anew', {
      cause: new Error(reason, { cause: error }),
    })
  }
}

function reasonOf(error: unknown): string {
  return causesOf(error)
    .map(({ message }) => message)
    .join(': ')
}

/**
 * Returns the error and its causes, as far as they are errors: what else stands there may have tokens or claims in it.
 * An OutboundError ends the list, as its message says in words what its cause says.
 */
function causesOf(error: unknown, remaining = MAX_CAUSES): readonly Error[] {
  if (!(error instanceof Error)) return []
  return remaining === 0 || error instanceof OutboundError ? [error] : [error, ...causesOf(error.cause, remaining - 1)]
}
