/**
 * Takes a presentation of a W3C SD-JWT credential apart into evidence, without judging it.
 * RFC 9901 sections 7.1 and 7.3; VC-JOSE-COSE for the members; OpenID4VP 1.0, IETF SD-JWT VC, for the key binding.
 */
import { isObject, type Json, type JsonObject, own, ownString } from '../../codec/json.ts'
import type { Jws } from '../../codec/jws.ts'
import { MalformedError, malformed } from '../../codec/malformed.ts'
import { digestOf, type Place, readSdJwt, revealClaims, type SdJwt } from '../../codec/sd-jwt.ts'
import { isApproval } from '../../codec/transaction-data.ts'
import { importPublicKey, readPublicJwk, thumbprint } from '../../keys/jwk.ts'
import { signedBy } from '../../keys/signature.ts'
import type { Evidence, HolderEvidence, Instant } from '../format.ts'

export const IDS = ['jwt_vc_json-ld', 'vc+sd-jwt'] as const

/** Members of the payload that are about the securing and not about the subject. */
const PROTOCOL_MEMBERS = new Set(['iss', 'iat', 'exp', 'nbf', 'jti', 'sub', 'aud', 'cnf', 'status', '_sd', '_sd_alg'])
/** Never disclosed selectively: RFC 9901, Security Considerations; VC-JOSE-COSE, Securing with SD-JWT. */
const ALWAYS_SHOWN = new Set([
  ...PROTOCOL_MEMBERS,
  '@context',
  'type',
  'issuer',
  'validFrom',
  'validUntil',
  'issuanceDate',
  'expirationDate',
  'credentialStatus',
  'credentialSchema',
  'relatedResource',
])

/** Throws a MalformedError when the text is no SD-JWT at all. */
export function read(presentation: string): Evidence {
  const sdJwt = readSdJwt(presentation)
  const { payload, header } = sdJwt.jws
  const { claims, problem } = reveal(sdJwt)
  return {
    formats: ownString(header, 'typ') === 'vc+sd-jwt' && own(payload, 'vct') === undefined ? IDS : [],
    issuer: {
      identifiers: identifiersOf(own(payload, 'iss'), issuerOf(claims)),
      chain: chainOf(header),
      signedBy: (key) => signedBy(sdJwt.jws, key),
    },
    holder: sdJwt.keyBinding && holderOf(sdJwt.keyBinding, sdJwt.bound),
    boundKey: boundKeyOf(payload),
    disclosuresProblem: problem,
    claims,
    envelope: [],
    types: stringsOf(own(claims, 'type')),
    validity: {
      notBefore: [numericDate(payload, 'nbf'), isoDate(claims, 'validFrom'), isoDate(claims, 'issuanceDate')].flat(),
      notAfter: [numericDate(payload, 'exp'), isoDate(claims, 'validUntil'), isoDate(claims, 'expirationDate')].flat(),
    },
    status: statusEntryOf(payload, claims),
  }
}

/** The credential's own claims. A VCDM 1.1 payload carries them in `vc`, and DCQL paths are rooted there. */
function reveal(sdJwt: SdJwt): { readonly claims: JsonObject; readonly problem: string | undefined } {
  const { payload } = sdJwt.jws
  try {
    const revealed = revealClaims(payload, sdJwt.disclosures)
    const concealed = revealed.disclosed.find(({ place }) => mustBeShown(place))
    if (concealed) malformed(`${concealed.place.join('.')} must not be selectively disclosable`)
    return { claims: credentialOf(revealed.claims), problem: undefined }
  } catch (error) {
    if (!(error instanceof MalformedError)) throw error
    return { claims: credentialOf(payload), problem: error.message }
  }
}

/** At any depth, and inside `vc` as at the root: half a type or an issuer without its name is no better than none. */
function mustBeShown(place: Place): boolean {
  const [member] = place[0] === 'vc' ? place.slice(1) : place
  // No member is left where it is `vc` itself, which has them all.
  return member === undefined || ALWAYS_SHOWN.has(String(member))
}

function credentialOf(payload: JsonObject): JsonObject {
  const vc = own(payload, 'vc')
  const root = isObject(vc) && own(payload, 'credentialSubject') === undefined ? vc : payload
  return Object.fromEntries(Object.entries(root).filter(([name]) => root === vc || !PROTOCOL_MEMBERS.has(name)))
}

function chainOf(header: JsonObject): readonly Uint8Array[] {
  // RFC 7515 section 4.1.6: standard base64, not base64url. What is no certificate fails when it is parsed.
  return stringsOf(own(header, 'x5c')).map((text) => Buffer.from(text, 'base64'))
}

function issuerOf(claims: JsonObject): Json | undefined {
  const issuer = own(claims, 'issuer')
  return isObject(issuer) ? own(issuer, 'id') : issuer
}

/** What is there and is no text is a name that equals no other, and so is an issuer that is nowhere. */
function identifiersOf(...named: readonly (Json | undefined)[]): string[] {
  const identifiers = named.filter((name) => name !== undefined)
  return identifiers.length === 0 ? [''] : identifiers.map((name) => (typeof name === 'string' ? name : ''))
}

function boundKeyOf(payload: JsonObject): Evidence['boundKey'] {
  const confirmation = own(payload, 'cnf')
  if (!isObject(confirmation)) return { problem: 'the credential is not bound to a key (it has no cnf)' }
  try {
    const jwk = readPublicJwk(own(confirmation, 'jwk'))
    return { jwk, thumbprint: thumbprint(jwk) }
  } catch (error) {
    if (error instanceof MalformedError) return { problem: `cnf.jwk: ${error.message}` }
    throw error
  }
}

function holderOf(keyBinding: Jws, bound: string): HolderEvidence {
  const { header, payload } = keyBinding
  const issuedAt = own(payload, 'iat')
  return {
    problem: ownString(header, 'typ') === 'kb+jwt' ? undefined : 'the type of the key binding is not kb+jwt',
    signedBy: (key) => signedBy(keyBinding, importPublicKey(key)),
    nonce: ownString(payload, 'nonce'),
    audience: ownString(payload, 'aud'),
    issuedAt: typeof issuedAt === 'number' ? new Date(issuedAt * 1000) : undefined,
    validity: { notBefore: numericDate(payload, 'nbf'), notAfter: numericDate(payload, 'exp') },
    coversPresentation: own(payload, 'sd_hash') === digestOf(bound),
    approves: (transactionData) => isApproval(payload, transactionData),
  }
}

function statusEntryOf(payload: JsonObject, claims: JsonObject): JsonObject | undefined {
  const status = Object.hasOwn(payload, 'status') ? own(payload, 'status') : own(claims, 'credentialStatus')
  if (status === undefined) return undefined
  return isObject(status) ? status : {}
}

function numericDate(payload: JsonObject, member: string): Instant[] {
  const value = own(payload, member)
  if (value === undefined) return []
  return [instant(member, typeof value === 'number' ? new Date(value * 1000) : undefined)]
}

/** XML Schema dateTimeStamp: the time zone is not optional. VCDM 2.0, Validity Period. */
function isoDate(claims: JsonObject, member: string): Instant[] {
  const value = own(claims, member)
  if (value === undefined) return []
  const stamped = typeof value === 'string' && /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$/.test(value)
  return [instant(member, stamped ? new Date(value) : undefined)]
}

/** No such time, or one beyond all calendars, is none. */
function instant(member: string, at: Date | undefined): Instant {
  return { member, at: at && !Number.isNaN(at.getTime()) ? at : undefined }
}

function stringsOf(value: Json | undefined): readonly string[] {
  if (typeof value === 'string') return [value]
  return Array.isArray(value) ? value.filter((element) => typeof element === 'string') : []
}
