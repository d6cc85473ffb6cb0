/**
 * Parses a DeviceResponse with one document into evidence, without verifying it. ISO/IEC 18013-5 sections 8.3.2.1.2.2,
 * 9.1.2 and 9.1.3; OpenID4VP 1.0, Mobile Documents or mdocs.
 */
import { fromBase64url } from '../../codec/base64url.ts'
import {
  asArray,
  asText,
  CBOR_TAG,
  type Cbor,
  type CborKey,
  type CborMap,
  contentOfTag,
  decodeCbor,
  isArray,
  isBytes,
  isMap,
  readEmbedded,
  type Tagged,
} from '../../codec/cbor.ts'
import { readCoseKey, readSign1 } from '../../codec/cose.ts'
import type { JsonObject } from '../../codec/json.ts'
import { malformed } from '../../codec/malformed.ts'
import { importPublicKey, readPublicJwk } from '../../keys/jwk.ts'
import { sign1SignatureProblem } from '../../keys/signature.ts'
import { approvalProblemOfNone, makeBoundKey, readDateTime, statusObject } from '../evidence.ts'
import type { Instant } from '../evidence-parts.ts'
import type { Evidence, HolderEvidence } from '../format.ts'
import { deviceAuthentication } from './device-auth.ts'
import { verifyElements } from './elements.ts'
import {
  type IssuerSigned,
  MDOC_VERSION,
  type MobileSecurityObject,
  readClosedMap,
  readIssuerSigned,
  versionText,
} from './issuer-signed.ts'
import { toJson } from './values.ts'

export const IDS = ['mso_mdoc'] as const
const STATUS_OK = 0

/** Parses a presentation. Throws a MalformedError if it is not a DeviceResponse with one document. */
export function read(presentation: string): Evidence {
  // Some wallets do not encode lengths in the shortest form. The outer maps are not signed, and the signed part is an
  // embedded byte string, so this is accepted.
  const document = readDocument(decodeCbor(fromBase64url(presentation), { longNumbers: true }))
  const docType = asText(document.get('docType'), 'docType of the document')
  const issuerSigned = readIssuerSigned(document.get('issuerSigned'))
  const deviceSigned = document.get('deviceSigned')
  return {
    ...evidenceOf(issuerSigned),
    statedTypes: [docType],
    holder: deviceSigned === undefined ? undefined : readHolder(deviceSigned, docType, issuerSigned.mso),
  }
}

/** Makes the evidence of the issuer-signed part. */
export function evidenceOf(issuerSigned: IssuerSigned): Omit<Evidence, 'holder' | 'statedTypes'> {
  const { mso, issuerAuth } = issuerSigned
  const { claims, problem } = verifyElements(issuerSigned)
  const signedAt = readInstant(mso.validityInfo, 'signed')
  return {
    formatProblem:
      mso.version === MDOC_VERSION ? undefined : `its mobile security object is ${versionText(mso.version)}`,
    issuer: {
      identifiers: [],
      chain: issuerAuth.x5chain,
      signedAt,
      signatureProblem: (key) => sign1SignatureProblem(issuerAuth, mso.bytes, key),
    },
    boundKey: makeBoundKey('deviceKey', () => readPublicJwk(readCoseKey(mso.deviceKeyInfo.get('deviceKey')))),
    disclosuresProblem: problem,
    claims,
    securingMembers: [],
    types: [mso.docType],
    validity: {
      notBefore: [signedAt, readInstant(mso.validityInfo, 'validFrom')],
      notAfter: [readInstant(mso.validityInfo, 'validUntil')],
    },
    status: readStatus(mso.status),
  }
}

/**
 * Returns the status with its byte strings in base64url. A text in place of the identifier would be taken for one of
 * them, so that such a status becomes an empty object, whose look-up fails.
 */
function readStatus(status: Cbor | undefined): JsonObject | undefined {
  if (status === undefined) return undefined
  const identifier = memberOfMap(memberOfMap(status, 'identifier_list'), 'id')
  return statusObject(identifier === undefined || isBytes(identifier) ? toJson(status) : {})
}

/** Returns the only Document of a DeviceResponse. */
function readDocument(value: Cbor): CborMap {
  const [document, ...more] = readDocuments(value, [MDOC_VERSION])
  if (document === undefined) malformed('the DeviceResponse has no document')
  if (more.length > 0) malformed('the DeviceResponse has several documents; send one in each')
  return readClosedMap(document, 'the document', ['docType', 'issuerSigned', 'deviceSigned', 'errors'])
}

/** Returns the documents of a DeviceResponse of one of these versions. Ignores `documentErrors`. */
export function readDocuments(value: Cbor, versions: readonly string[]): readonly Cbor[] {
  const version = isMap(value) ? value.get('version') : MDOC_VERSION
  // Checks the version first, since another version may have other members.
  if (typeof version !== 'string' || !versions.includes(version))
    malformed(`the DeviceResponse is ${versionText(version)}, and ${versions.join(' or ')} alone is read`)
  const response = readClosedMap(value, 'the DeviceResponse', ['version', 'documents', 'documentErrors', 'status'])
  if (response.get('status') !== STATUS_OK) malformed('the status of the DeviceResponse is not 0 (OK)')
  return asArray(response.get('documents'), 'documents')
}

/** Names what the device signs and does not send: a difference in it shows in the signature alone. */
const OTHER_DEVICE_SIGNATURE = 'another key made it, or it is for another request, verifier or encryption key'

function readHolder(value: Cbor, docType: string, mso: MobileSecurityObject): HolderEvidence {
  const deviceSigned = readClosedMap(value, 'deviceSigned', ['nameSpaces', 'deviceAuth'])
  const deviceNameSpaces = deviceSigned.get('nameSpaces')
  const deviceElements = readEmbedded(deviceNameSpaces, 'nameSpaces of deviceSigned')
  const auth = readClosedMap(deviceSigned.get('deviceAuth'), 'deviceAuth', ['deviceSignature', 'deviceMac'])
  const signature = auth.get('deviceSignature')
  const sign1 = signature === undefined ? undefined : readSign1(signature, 'deviceSignature')
  // ISO/IEC 18013-5 section 9.1.3.6: the payload is detached, and the verifier computes it.
  if (sign1?.payload !== undefined) malformed('the payload of deviceSignature is not detached (null)')
  return {
    problem: methodProblem(auth) ?? authorizationProblem(deviceElements, mso),
    signatureProblem(key, binding) {
      if (sign1 === undefined) return 'there is none'
      const payload = deviceAuthentication(binding, docType, deviceNameSpaces as Tagged)
      return sign1SignatureProblem(sign1, payload, importPublicKey(key), OTHER_DEVICE_SIGNATURE)
    },
    nonce: undefined,
    audience: undefined,
    presentedAt: undefined,
    validity: { notBefore: [], notAfter: [] },
    coversPresentation: false,
    approvalProblem: approvalProblemOfNone,
  }
}

function methodProblem(auth: CborMap): string | undefined {
  if (auth.has('deviceMac')) {
    return 'deviceAuth is a MAC, for which a verifier has no key; sign instead (deviceSignature)'
  }
  return auth.has('deviceSignature') ? undefined : 'deviceAuth has no deviceSignature'
}

/**
 * Returns the problem if the device signed an element that the issuer did not authorize, by namespace or by element
 * (KeyAuthorizations). ISO/IEC 18013-5 section 9.1.2.4.
 */
function authorizationProblem(deviceElements: Cbor, { deviceKeyInfo }: MobileSecurityObject): string | undefined {
  if (!isMap(deviceElements)) return 'nameSpaces of deviceSigned is not a CBOR map'
  const authorizations = deviceKeyInfo.get('keyAuthorizations')
  const nameSpaces = elementSet(memberOfMap(authorizations, 'nameSpaces'))
  const dataElements = memberOfMap(authorizations, 'dataElements')
  for (const [nameSpace, elements] of deviceElements) {
    if (!isMap(elements)) return 'a namespace of deviceSigned is not a CBOR map'
    if (nameSpaces.has(nameSpace)) continue
    const authorizedElements = elementSet(memberOfMap(dataElements, nameSpace))
    if ([...elements.keys()].some((element) => !authorizedElements.has(element))) {
      return 'the device signed elements that the issuer did not authorize its key to sign (keyAuthorizations)'
    }
  }
  return undefined
}

function memberOfMap(map: Cbor | undefined, key: CborKey): Cbor | undefined {
  return isMap(map) ? map.get(key) : undefined
}

/** Returns the texts of a list as a set, so that searching a long list is fast. */
function elementSet(list: Cbor | undefined): ReadonlySet<Cbor> {
  return new Set(isArray(list) ? list.filter((element) => typeof element === 'string') : [])
}

/**
 * Reads a tdate (RFC 3339 with time zone). Its time is undefined if it is missing or invalid; all of them are
 * mandatory.
 */
function readInstant(validityInfo: CborMap, member: string): Instant {
  return readDateTime(member, contentOfTag(validityInfo.get(member), CBOR_TAG.dateTime))
}
