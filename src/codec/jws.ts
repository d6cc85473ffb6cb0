/**
 * Parses and writes compact JWS, without verifying signatures; `keys/signature.ts` does, with a key that the caller
 * selects. RFC 7515 sections 3.1 and 7.1.
 */
import { fromBase64, fromBase64url, toBase64url } from './base64url.ts'
import { type JsonObject, memberOf, parseJsonObject, refuseMany } from './json.ts'
import { malformed, readPart } from './malformed.ts'

export interface Jws extends JwsWithoutPayload {
  readonly payload: JsonObject
}

/** A JWS whose payload is not parsed yet. */
export interface JwsWithoutPayload {
  readonly header: JsonObject
  /** The signing input: `<header>.<payload>` as in the text. */
  readonly signingInput: Buffer
  readonly signature: Buffer
}

/** The maximum number of members and elements, since they are processed before a signature is verified. */
const MAX_VALUES = { header: 1000, payload: 20_000 } as const

/** Parses a compact JWS. Throws a MalformedError that names the invalid part. */
export function readJws(compact: string): Jws {
  return { ...readJwsWithoutPayload(compact), payload: readJwsPayload(compact) }
}

/**
 * Parses a compact JWS but for its payload, for one so large that its signature is verified first. Throws a
 * MalformedError. `refuseCritical` throws one for critical extensions (`crit`) that the caller does not understand: all
 * when absent.
 */
export function readJwsWithoutPayload(
  compact: string,
  refuseCritical: (header: JsonObject) => void = refuseAnyCritical,
): JwsWithoutPayload {
  const [header, payload, signature] = splitJws(compact)
  const protectedHeader = decodePart('header', header, MAX_VALUES.header)
  refuseCritical(protectedHeader)
  return {
    header: protectedHeader,
    signingInput: Buffer.from(`${header}.${payload}`, 'latin1'),
    signature: readPart('the signature', () => fromBase64url(signature)),
  }
}

/** Throws a MalformedError for critical extensions, which the recipient must understand. RFC 7515 section 4.1.11. */
function refuseAnyCritical(header: JsonObject): void {
  if (Object.hasOwn(header, 'crit')) malformed('the header names critical extensions, and none is supported')
}

/**
 * Parses only the payload of a compact JWS: for a token whose digest the caller compares, or whose signature it has
 * verified, so that its header and signature need not be read. Throws a MalformedError.
 */
export function readJwsPayload(compact: string, maxValues: number = MAX_VALUES.payload): JsonObject {
  const [, payload] = splitJws(compact)
  return decodePart('payload', payload, maxValues)
}

/** Signs `payload` with `header`. `sign` returns the raw signature of the given bytes (r and s, for ECDSA). */
export async function writeJws(
  header: JsonObject,
  payload: JsonObject,
  sign: (data: Uint8Array) => Promise<Uint8Array>,
): Promise<string> {
  const text = `${toBase64url(JSON.stringify(header))}.${toBase64url(JSON.stringify(payload))}`
  return `${text}.${toBase64url(await sign(Buffer.from(text, 'latin1')))}`
}

function splitJws(compact: string): readonly [header: string, payload: string, signature: string] {
  const [header, payload, signature, ...more] = compact.split('.', 4)
  return header === undefined || payload === undefined || signature === undefined || more.length > 0
    ? malformed('a JWS has three parts separated by dots')
    : [header, payload, signature]
}

function decodePart(name: 'header' | 'payload', text: string, maxValues: number): JsonObject {
  return readPart(`the ${name}`, () => {
    const value = parseJsonObject(fromBase64url(text))
    refuseMany(value, maxValues)
    return value
  })
}

/**
 * Returns the only audience of a JWT, which is a text, or an array with one; undefined if there are none or several.
 * RFC 7519 section 4.1.3.
 */
export function readOnlyAudience(payload: JsonObject): string | undefined {
  const [audience, ...others] = [memberOf(payload, 'aud')].flat()
  return typeof audience === 'string' && others.length === 0 ? audience : undefined
}

/**
 * Decodes the certificates of `x5c` to DER. Throws a MalformedError unless it is an array of base64 strings. RFC 7515
 * section 4.1.6.
 */
export function decodeX5c(value: unknown): readonly Buffer[] {
  if (!Array.isArray(value)) return malformed('x5c is not an array')
  return value.map((text, index) =>
    readPart(`x5c[${index}]`, () => (typeof text === 'string' ? fromBase64(text) : malformed('it is not a string'))),
  )
}
