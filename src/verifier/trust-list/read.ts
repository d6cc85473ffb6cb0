/**
 * Reads a list of trusted entities (LoTE): verifies its signature, a compact JAdES, and finds the certificates of the
 * issuers in it. ETSI TS 119 602 V1.1.1, clause 6 and annexes A.1, D and H; ETSI TS 119 182-1, JAdES baseline B-B.
 * docs/divergences/certificates.md has what others do differently.
 */
import { fromBase64 } from '../../codec/base64url.ts'
import { type Json, type JsonObject, memberOf, stringMemberOf, stringsIn } from '../../codec/json.ts'
import { type JwsWithoutPayload, readJwsPayload, readJwsWithoutPayload } from '../../codec/jws.ts'
import { malformed, readOrUndefined } from '../../codec/malformed.ts'
import { untrustedText } from '../../codec/untrusted-text.ts'
import type { TrustListConfig } from '../../config/trust-lists.ts'
import { readDateTime, readNumericDate } from '../../credential/evidence.ts'
import { type Certificate, leafProblem } from '../../keys/certificate.ts'
import { beginsWithTlsServer, tlsProblem } from '../../keys/certificate-purpose.ts'
import { isJwsSignedBy, jwsSignatureProblem } from '../../keys/signature.ts'
import { anchorAsSigner, findTrustPath, readX5c } from '../../keys/trust-path.ts'

export interface TrustList {
  readonly sequenceNumber: number
  readonly issuedAt: Date
  /** The time until which the list counts. */
  readonly nextUpdate: Date
  /** The certificates of the services that issue credentials and are neither withdrawn nor of the future (DER). */
  readonly certificates: readonly Buffer[]
}

/** The clock at the time when the list was fetched. */
export interface ReadingTime {
  readonly at: Date
  readonly clockSkewSeconds: number
}

/** The members of the header that `crit` may name: the time of the signature, and a payload in base64url. */
const CRITICAL_NAMES = ['sigT', 'b64']
/** The types in use: of JAdES, of libraries for lists, and of libraries for JWTs. */
const TYPES = ['jose', 'jades', 'trustlist+jwt', 'jwt']
/** The most values of a list, which allow for its size. */
const MAX_VALUES = 1_000_000
const VERSION = 1
const ETSI = 'http://uri.etsi.org/19602/'
/**
 * The services that issue credentials, by the type of the list. In lists of other types they end in `/Issuance`, and
 * are none of {@link OTHER_ISSUANCE}.
 */
const ISSUANCE_SERVICES: ReadonlyMap<string, string> = new Map([
  [`${ETSI}LoTEType/EUPIDProvidersList`, `${ETSI}SvcType/PID/Issuance`],
  [`${ETSI}LoTEType/EUPubEAAProvidersList`, `${ETSI}SvcType/PubEAA/Issuance`],
])

/** The services that issue to wallets and to relying parties, in lists of any type. */
const OTHER_ISSUANCE = /\/SvcType\/(WalletSolution|WRPAC|WRPRC)\/Issuance$/

/**
 * Reads a list that was fetched at a time, whose signature must have been valid then. Throws a MalformedError if it is
 * not the list of the setting, or not signed by one of its signers. Whether the list has ended, the caller decides.
 */
export function readTrustList(text: string, setting: TrustListConfig, time: ReadingTime): TrustList {
  const jws = readJwsWithoutPayload(text, refuseCritical)
  refuseHeader(jws.header, time)
  const problem = signerProblem(jws, setting, time)
  if (problem !== undefined) malformed(problem)
  // Parsing so much is for those who may sign it.
  const payload = readJwsPayload(text, MAX_VALUES)
  // Some libraries sign the list itself, without the object around it.
  const list = memberOf(payload, 'LoTE') ?? payload
  const scheme = memberOf(list, 'ListAndSchemeInformation')
  if (memberOf(scheme, 'LoTEVersionIdentifier') !== VERSION) malformed(`its LoTEVersionIdentifier is not ${VERSION}`)
  const loteType = stringMemberOf(scheme, 'LoTEType')
  if (loteType !== setting.loteType) {
    malformed(`its LoTEType is ${loteType === undefined ? 'absent' : untrustedText(loteType)}, not ${setting.loteType}`)
  }
  const issuedAt = readTime(scheme, 'ListIssueDateTime')
  if (isFuture(issuedAt, time)) malformed('it is from the future (ListIssueDateTime); compare the clocks')
  return {
    sequenceNumber: readSequenceNumber(scheme),
    issuedAt,
    nextUpdate: readTime(scheme, 'NextUpdate'),
    certificates: elementsOf(list, 'TrustedEntitiesList')
      .flatMap((entity) => elementsOf(entity, 'TrustedEntityServices'))
      .map((service) => memberOf(service, 'ServiceInformation'))
      .filter((service) => issuesCredentials(service, setting.loteType) && isGranted(service, time))
      .flatMap(certificatesOf),
  }
}

/** Throws a MalformedError unless `crit` is absent, or names members that this reader understands. RFC 7515 4.1.11. */
function refuseCritical(header: JsonObject): void {
  const crit = memberOf(header, 'crit')
  if (crit === undefined) return
  const names = stringsIn(crit)
  if (!Array.isArray(crit) || names.length === 0 || names.length < crit.length) {
    malformed('crit of the header is not a list of names')
  }
  const unknownName = names.find((name) => !CRITICAL_NAMES.includes(name))
  if (unknownName !== undefined) {
    malformed(`the header names the critical extension ${untrustedText(unknownName)}, which is not supported`)
  }
  if (names.some((name) => memberOf(header, name) === undefined)) malformed('crit names what is not in the header')
}

/** Refuses a header of another kind of token, of a payload in another form, or of a time in the future. */
function refuseHeader(header: JsonObject, time: ReadingTime): void {
  const typ = memberOf(header, 'typ')
  const isListType = typeof typ === 'string' && TYPES.includes(typ.toLowerCase().replace(/^application\//, ''))
  if (typ !== undefined && !isListType) malformed('its type (typ) is not that of a list')
  if ((memberOf(header, 'b64') ?? true) !== true) malformed('its payload is not in base64url (b64)')
  const sigT = memberOf(header, 'sigT')
  for (const { member, at } of [
    ...readNumericDate(header, 'iat'),
    ...(sigT === undefined ? [] : [readDateTime('sigT', sigT)]),
  ]) {
    if (at === undefined) malformed(`${member} of its header is not a time`)
    else if (isFuture(at, time)) malformed(`it was signed in the future (${member}); compare the clocks`)
  }
}

/**
 * Returns why no signer of the setting signed the list; undefined if one did. Without `x5c` the signer must be one of
 * the certificates of the setting.
 */
function signerProblem(
  jws: JwsWithoutPayload,
  { signerAnchors }: TrustListConfig,
  { at, clockSkewSeconds }: ReadingTime,
): string | undefined {
  const x5c = memberOf(jws.header, 'x5c')
  const chain: readonly Certificate[] =
    x5c === undefined ? signerAnchors.filter((each) => isJwsSignedBy(jws, each.publicKey)).slice(0, 1) : readX5c(x5c)
  const [leaf] = chain
  if (leaf === undefined) return 'it comes without x5c, and no certificate of signerTrustAnchors signed it'
  const thumbprint = memberOf(jws.header, 'x5t#S256')
  if (thumbprint !== undefined && thumbprint !== leaf.fingerprint) return 'x5t#S256 is not that of its certificate'
  const signatureProblem = jwsSignatureProblem(jws, leaf.publicKey)
  if (signatureProblem !== undefined) return `its signature does not hold: ${signatureProblem}`
  const trustPath = findTrustPath(chain, signerAnchors, { now: at, clockSkewSeconds })
  if ('problem' in trustPath) return `its signer is not one of signerTrustAnchors: ${trustPath.problem}`
  if (beginsWithTlsServer(trustPath.path)) return tlsProblem(leaf)
  return leafProblem(anchorAsSigner(leaf, signerAnchors), at, clockSkewSeconds, 'trustList')
}

function readSequenceNumber(scheme: Json | undefined): number {
  const number = memberOf(scheme, 'LoTESequenceNumber')
  return typeof number === 'number' && Number.isSafeInteger(number) && number > 0
    ? number
    : malformed('its LoTESequenceNumber is not a positive integer')
}

function readTime(object: Json | undefined, member: string): Date {
  return readDateTime(member, memberOf(object, member)).at ?? malformed(`its ${member} is not a time`)
}

function isFuture(time: Date, { at, clockSkewSeconds }: ReadingTime): boolean {
  return time.getTime() > at.getTime() + clockSkewSeconds * 1000
}

function elementsOf(object: Json | undefined, member: string): readonly Json[] {
  const elements = memberOf(object, member)
  return Array.isArray(elements) ? elements : []
}

function issuesCredentials(service: Json | undefined, loteType: string): boolean {
  const type = stringMemberOf(service, 'ServiceTypeIdentifier')
  const issuanceType = ISSUANCE_SERVICES.get(loteType)
  if (issuanceType !== undefined) return type === issuanceType
  return type?.endsWith('/Issuance') === true && !OTHER_ISSUANCE.test(type)
}

/**
 * Tests whether a service counts: in lists with states, one that is granted or notified by now. A state that begins
 * later does not count, and neither does one that this release does not know, nor a service with an extension that must
 * be understood. TS 119 602 clauses 6.6.4 and 6.6.9.
 */
function isGranted(service: Json | undefined, time: ReadingTime): boolean {
  const status = memberOf(service, 'ServiceStatus')
  if (status !== undefined && !(typeof status === 'string' && /\/(granted|notified)$/.test(status))) return false
  const start = memberOf(service, 'StatusStartingTime')
  const startsAt = start === undefined ? time.at : readDateTime('StatusStartingTime', start).at
  if (startsAt === undefined || isFuture(startsAt, time)) return false
  return !elementsOf(service, 'ServiceInformationExtensions').some(
    (each) => memberOf(each, 'Critical') === true && memberOf(each, 'ServiceUniqueIdentifier') === undefined,
  )
}

/** Returns the certificates of a service. One that is not base64 is left out, as one of an unknown kind is later. */
function certificatesOf(service: Json | undefined): Buffer[] {
  return elementsOf(memberOf(service, 'ServiceDigitalIdentity'), 'X509Certificates').flatMap((each) => {
    const encodedCertificate = stringMemberOf(each, 'val')
    const der = encodedCertificate && readOrUndefined(() => fromBase64(encodedCertificate))
    return der ? [der] : []
  })
}
