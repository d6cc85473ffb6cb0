/**
 * Parses W3C status lists that are secured as VC-JWT. Bitstring Status List 1.0, BitstringStatusListCredential;
 * VC-JOSE-COSE, Securing JSON-LD Verifiable Credentials with JOSE.
 */
import { fromBase64url } from '../../codec/base64url.ts'
import { isObject, type JsonObject, memberOf, stringMemberOf } from '../../codec/json.ts'
import { readJws } from '../../codec/jws.ts'
import { malformed, readPart } from '../../codec/malformed.ts'
import { readOneOrMoreStrings, readX5cHeader } from '../../credential/evidence.ts'
import { conformanceProblem, w3cEvidence } from '../../credential/w3c/members.ts'
import { isJwsSignedBy } from '../../keys/signature.ts'
import { type FetchedStatusList, makeEntries, unpack } from './status-list-token.ts'

const TYPES: readonly unknown[] = ['vc+jwt', 'JWT', undefined]
/** The minimum length of a list, for herd privacy. Bitstring Status List 1.0, BitstringStatusListCredential. */
const MIN_BYTES = 131_072 / 8

/** Parses a status list credential. Throws a MalformedError if the text is not a list for `uri`. */
export async function readBitstringCredential(text: string, uri: string): Promise<FetchedStatusList> {
  const jws = readJws(text)
  const { header, payload } = jws
  if (!TYPES.includes(memberOf(header, 'typ'))) malformed('its type is not vc+jwt')
  // VCDM 1.1 has the credential in the claim `vc`.
  const inner = memberOf(payload, 'vc')
  const credential = isObject(inner) ? inner : payload
  const problem = conformanceProblem(payload, credential, false)
  if (problem !== undefined) malformed(`it is not a credential: ${problem}`)
  const { types, identifiers, validity } = w3cEvidence(payload, credential)
  if (!types.includes('BitstringStatusListCredential')) malformed('it is not a BitstringStatusListCredential')
  // VCDM 1.1 section 6.3.1: a JWT may have the id in `jti`. Without an id, another list of the issuer could be used in
  // place of this one.
  const id = memberOf(credential, 'id') ?? memberOf(payload, 'jti')
  if (id === undefined) malformed('it has no id, by which it would say its address')
  if (id !== uri) malformed('its id is not the address that it was fetched from')
  return {
    chain: readX5cHeader(header),
    isSignedBy: (key) => isJwsSignedBy(jws, key),
    validity,
    identifiers,
    ...(await readContent(memberOf(credential, 'credentialSubject'))),
  }
}

async function readContent(
  subject: unknown,
): Promise<Pick<FetchedStatusList, 'ttlSeconds' | 'purposes' | 'findStatus' | 'memoryBytes'>> {
  if (!isObject(subject) || !readOneOrMoreStrings(memberOf(subject, 'type')).includes('BitstringStatusList')) {
    return malformed('its credentialSubject is not a BitstringStatusList')
  }
  const encodedList = stringMemberOf(subject, 'encodedList')
  // The prefix `u` is that of multibase for base64url without padding.
  if (encodedList?.startsWith('u') !== true) return malformed('its encodedList does not begin with u')
  const bytes = await unpack(
    readPart('its encodedList', () => fromBase64url(encodedList.slice(1))),
    'gzip',
  )
  if (bytes.length < MIN_BYTES) malformed(`its list has fewer than ${MIN_BYTES * 8} entries`)
  return {
    ttlSeconds: readTtl(subject),
    purposes: readOneOrMoreStrings(memberOf(subject, 'statusPurpose')),
    // Index 0 is the most significant bit.
    ...makeEntries(bytes, 1, (index) => index ^ 7),
  }
}

/** Returns `ttl` in seconds; undefined if it is absent. Bitstring Status List has it in milliseconds. */
function readTtl(subject: JsonObject): number | undefined {
  const ttl = memberOf(subject, 'ttl')
  if (ttl === undefined) return undefined
  return typeof ttl === 'number' && ttl > 0 ? ttl / 1000 : malformed('its ttl is not a positive number')
}
