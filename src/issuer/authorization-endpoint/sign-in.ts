/**
 * Signs the person in at the operator's OpenID Connect provider, where no application asks the person. The provider's
 * response decides the interaction (`person-decision.ts`). The `state` is encrypted, so nothing is stored before the
 * response; each is answered once. OpenID Connect Core 1.0 section 3.1, RFC 9700 section 4.7.
 */
import { toBase64url } from '../../codec/base64url.ts'
import type { OpenidProvider, SignInAttempt } from '../../openid-connect/provider.ts'
import { refuse } from '../../protocol/error.ts'
import { secretPurposes } from '../access/context.ts'
import { decryptObject, encryptValue, type ValueKey } from '../access/encrypted-value.ts'
import type { IssuerContext } from '../context.ts'
import type { BrowserStep } from './browser.ts'
import {
  admitAnswer,
  decideByClaims,
  denyPerson,
  refuseSignIn,
  requireRequestOfVisit,
  type SignInVisit,
} from './person-decision.ts'

/** The content of the `state` parameter, which the browser carries to the provider and back. */
interface SignInState extends Omit<SignInAttempt, 'state'> {
  readonly id: string
}

/** The errors of the provider that mean that the person did not sign in. OpenID Connect Core 1.0 section 3.1.2.6. */
const DENIALS = ['access_denied', 'login_required', 'interaction_required', 'consent_required']
const MAX_STATE = 1024

/** Returns the provider. Refuses with `not_found` if none is configured. */
function requireProvider({ signInProvider }: Pick<IssuerContext, 'signInProvider'>): OpenidProvider {
  return signInProvider ?? refuseSignIn()
}

/**
 * Starts the sign-in, and returns the URL of the provider. Refuses like {@link requireRequestOfVisit} and
 * `makeAuthorizationUrl`.
 */
export async function beginSignIn(context: IssuerContext, visit: SignInVisit): Promise<string> {
  const provider = requireProvider(context)
  await requireRequestOfVisit(context, visit)
  const [nonce, verifier] = [toBase64url(context.random(32)), toBase64url(context.random(32))]
  const text = JSON.stringify({ id: visit.id, nonce, verifier } satisfies SignInState)
  return provider.makeAuthorizationUrl({ state: encryptValue(stateKeyOf(context), text, context), nonce, verifier })
}

/**
 * Decides the interaction by the provider's response. Refuses with `invalid_request` an invalid response, a second one
 * with the same `state` or one for another browser, with `gone` a response to a decided interaction or after too many
 * others, and with `temporarily_unavailable` if the provider cannot be reached. A response in another browser also ends
 * the request, because two people are involved.
 */
export async function finishSignIn(
  context: IssuerContext,
  parameters: URLSearchParams,
  cookie: string | undefined,
): Promise<BrowserStep> {
  const provider = requireProvider(context)
  const state = parameters.get('state') ?? ''
  const { id, ...attempt } = decryptState(context, state)
  const identifiedRequest = await admitAnswer(context, { id, cookie }, { secret: state, isRepeatable: false })
  const result = await provider.readAuthorizationResponse(parameters, { state, ...attempt })
  if ('claims' in result) return decideByClaims(context, identifiedRequest, result.claims)
  if (!DENIALS.includes(result.refused)) {
    const cause = new Error(/^[a-z_]{1,60}$/.test(result.refused) ? result.refused : 'an error without a proper code')
    refuse('invalid_request', 'the sign-in provider signed nobody in; begin anew in the wallet', { cause })
  }
  return denyPerson(context, identifiedRequest, 'the person was not signed in')
}

function decryptState(context: IssuerContext, state: string): SignInState {
  const content = state.length > MAX_STATE ? undefined : decryptObject(stateKeyOf(context), state)
  if (content === undefined) return refuse('invalid_request', 'state: it is unknown; begin anew in the wallet')
  return content as unknown as SignInState
}

function stateKeyOf({ secrets }: IssuerContext): ValueKey {
  return { secrets: secrets.signInState, boundTo: secretPurposes.signInState }
}
