/**
 * Parses both forms of a response, encrypted or not, to a `vp_token` or the wallet's error. OpenID4VP 1.0, Response
 * Parameters; Response Mode direct_post and direct_post.jwt.
 */
import { isObject, type Json, type JsonObject, memberOf, parseJsonObject } from '../codec/json.ts'
import { readOrRefuse, refuse } from '../protocol/error.ts'
import type { EncryptedResponseForm, PlainResponseForm } from './schemas.ts'

export type WalletResponse = { readonly state: string | undefined } & (
  | { readonly error: string; readonly description: string | undefined }
  | { readonly vpToken: JsonObject }
)

/** The maximum number of presentations for a credential query with `multiple`, since verifying each is expensive. */
const MAX_PRESENTATIONS = 20

/** The form of an unencrypted response, with a member that some wallets (Multipaz) send in place of `vp_token`. */
type PostedForm = PlainResponseForm & { readonly response?: string }

/** Parses an unencrypted response. Refuses with `invalid_request`. */
export function readForm({
  vp_token: text,
  state,
  error,
  error_description: description,
  response,
}: PostedForm): WalletResponse {
  if (error) return { error, description, state }
  if (text) return { vpToken: parseVpToken(text), state }
  const problem = response
    ? 'has a member response in place of vp_token, as encrypted ones have, which the verifier asks for with the profile haip'
    : 'has neither vp_token nor error'
  return refuse('invalid_request', `the response ${problem}`)
}

/**
 * Decrypts an encrypted response by `decrypt`, which returns its members, and parses it. Also accepts an unencrypted
 * error. Refuses with `invalid_request`.
 */
export async function readEncryptedForm(
  form: EncryptedResponseForm,
  decrypt: (response: string) => Promise<JsonObject> | JsonObject,
): Promise<WalletResponse> {
  const { response, state, error, error_description: description } = form
  if (error) return { error, description, state }
  if (!response) return refuse('invalid_request', 'the response has neither response (encrypted) nor error')
  return readMembers(await decrypt(response))
}

/**
 * Returns the presentations of a `vp_token`, by credential query id. Refuses with `invalid_request` a `vp_token` that
 * is not an object of arrays of presentations.
 */
export function readVpToken(token: JsonObject): ReadonlyMap<string, readonly string[]> {
  const entries = Object.entries(token).map(([id, presentations]) => {
    if (!Array.isArray(presentations)) return refuse('invalid_request', 'each member of vp_token must be an array')
    if (presentations.length > MAX_PRESENTATIONS) {
      refuse('invalid_request', `a member of vp_token has more than ${MAX_PRESENTATIONS} presentations`)
    }
    return [id, presentations.map(readPresentationText)] as const
  })
  return new Map(entries)
}

/** Parses the content of the JWE, whose members are JSON values instead of the texts of a form. */
function readMembers(members: JsonObject): WalletResponse {
  const [state, error, description] = ['state', 'error', 'error_description'].map((name) => readText(members, name))
  if (error) return { error, description, state }
  const token = memberOf(members, 'vp_token')
  if (token === undefined) return refuse('invalid_request', 'the encrypted response has neither vp_token nor error')
  // Some wallets encrypt the text of a form.
  if (typeof token === 'string') return { vpToken: parseVpToken(token), state }
  if (!isObject(token)) return refuse('invalid_request', 'vp_token: it is not a JSON object')
  return { vpToken: token, state }
}

function parseVpToken(text: string): JsonObject {
  return readOrRefuse('invalid_request', 'vp_token', () => parseJsonObject(text))
}

function readText(members: JsonObject, name: string): string | undefined {
  const value = memberOf(members, name)
  if (value === undefined || typeof value === 'string') return value
  return refuse('invalid_request', `${name} must be a string`)
}

function readPresentationText(presentation: Json): string {
  return typeof presentation === 'string'
    ? presentation
    : refuse('invalid_request', 'each presentation must be a string')
}
