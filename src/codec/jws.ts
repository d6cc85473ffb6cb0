/**
 * Compact JWS: taking it apart and putting it together. Nothing here trusts a header or checks a signature:
 * `keys/signature.ts` does that, with a key somebody decided on. RFC 7515 sections 3.1 and 7.1.
 */
import { fromBase64url, toBase64url } from './base64url.ts'
import { type JsonObject, parseJsonObject, refuseMany } from './json.ts'
import { malformed, within } from './malformed.ts'

export interface Jws {
  readonly header: JsonObject
  readonly payload: JsonObject
  /** The bytes that were signed: `<header>.<payload>` as they stood in the text. */
  readonly signed: Buffer
  readonly signature: Buffer
}

/** Members and elements. Whoever reads them looks at each, some several times, before anybody has verified anything. */
const MAX_VALUES = { header: 1000, payload: 20_000 } as const

/** Takes a compact JWS apart. Throws a MalformedError that says which part is wrong. */
export function readJws(compact: string): Jws {
  const [header, payload, signature, ...more] = compact.split('.')
  if (header === undefined || payload === undefined || signature === undefined || more.length > 0) {
    return malformed('a JWS has three parts separated by dots')
  }
  const protectedHeader = part('header', header)
  // RFC 7515 section 4.1.11: an extension that must be understood and is not.
  if (Object.hasOwn(protectedHeader, 'crit')) malformed('the header names critical extensions, and none is supported')
  return {
    header: protectedHeader,
    payload: part('payload', payload),
    signed: Buffer.from(`${header}.${payload}`, 'latin1'),
    signature: within('the signature', () => fromBase64url(signature)),
  }
}

/** Signs `payload` under `header`; `sign` takes the bytes to sign and gives the raw signature (r and s, for ECDSA). */
export async function writeJws(
  header: JsonObject,
  payload: JsonObject,
  sign: (data: Uint8Array) => Promise<Uint8Array>,
): Promise<string> {
  const text = `${toBase64url(JSON.stringify(header))}.${toBase64url(JSON.stringify(payload))}`
  return `${text}.${toBase64url(await sign(Buffer.from(text, 'latin1')))}`
}

function part(name: 'header' | 'payload', text: string): JsonObject {
  return within(`the ${name}`, () => {
    const value = parseJsonObject(fromBase64url(text))
    refuseMany(value, MAX_VALUES[name])
    return value
  })
}
