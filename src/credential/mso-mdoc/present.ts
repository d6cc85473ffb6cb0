/**
 * The holder's side of an mdoc: parses an issued credential, and makes presentations. ISO/IEC 18013-5 sections
 * 8.3.2.1.2.2 and 9.1.3.
 */
import { isDeepStrictEqual } from 'node:util'
import { fromBase64url, toBase64url } from '../../codec/base64url.ts'
import { CBOR_TAG, type Cbor, type CborKey, decodeCbor, embedCbor, encodeCbor, makeTagged } from '../../codec/cbor.ts'
import { writeSign1 } from '../../codec/cose.ts'
import { isObject, type JsonObject } from '../../codec/json.ts'
import { malformed } from '../../codec/malformed.ts'
import type { ClaimPosition } from '../../codec/sd-jwt.ts'
import { algorithms } from '../../keys/signature.ts'
import type { Signer } from '../../keys/signer.ts'
import { isWithin } from '../../protocol/claim-path.ts'
import { earliestEnd, hasOrderedStatus } from '../evidence.ts'
import type { Binding, HeldCredential, Order } from '../format.ts'
import { deviceAuthentication } from './device-auth.ts'
import { readIdentifier } from './elements.ts'
import { type IssuerSigned, MDOC_VERSION, readIssuerSigned } from './issuer-signed.ts'
import { evidenceOf } from './read.ts'
import type { MdocMembers } from './validation.ts'
import { toCbor, toJson } from './values.ts'

/** Parses an issued mdoc. Throws a MalformedError if it is invalid or of another version. */
export function readHeld(credential: string): HeldCredential {
  const evidence = evidenceOf(parseCredential(credential))
  if (evidence.disclosuresProblem !== undefined) malformed(evidence.disclosuresProblem)
  if (evidence.formatProblem !== undefined) malformed(`${evidence.formatProblem}, and ${MDOC_VERSION} alone is read`)
  return {
    ...evidence,
    holder: undefined,
    expiresAt: earliestEnd(evidence.validity),
    disclosable: Object.entries(evidence.claims).flatMap(([nameSpace, elements]) =>
      Object.keys(elements as JsonObject).map((name) => [nameSpace, name]),
    ),
  }
}

/**
 * Tests whether a credential matches its order. Dates and bytes are compared in the form in which they are read, since
 * a dataset may write them in several ways.
 */
export function matchesOrder(order: Order<MdocMembers>, credential: string): boolean {
  const { dataset, configuration } = order
  const heldCredential = readHeld(credential)
  const { claims, types } = heldCredential
  const orderedClaims = Object.entries(dataset).map(([nameSpace, elements]) => [
    nameSpace,
    elementsAsRead(nameSpace, elements as JsonObject),
  ])
  return (
    isDeepStrictEqual(claims, Object.fromEntries(orderedClaims)) &&
    types[0] === configuration.doctype &&
    hasOrderedStatus(order, heldCredential)
  )
}

/** Makes a DeviceResponse that discloses the elements at `positions`, signed with the holder's key. */
export async function present(
  credential: string,
  positions: readonly ClaimPosition[],
  binding: Binding & { readonly at: Date },
  holder: Signer,
): Promise<string> {
  const { nameSpaces, rawIssuerAuth, mso } = parseCredential(credential)
  const shownMember = shownNameSpaces(nameSpaces, positions)
  const deviceNameSpaces = embedCbor(new Map())
  const deviceSignature = await writeSign1(
    {
      alg: algorithms[holder.alg].cose[0],
      payload: deviceAuthentication(binding, mso.docType, deviceNameSpaces),
      detached: true,
    },
    (data) => holder.sign(data),
  )
  const document = new Map<CborKey, Cbor>([
    ['docType', mso.docType],
    ['issuerSigned', new Map<CborKey, Cbor>([...shownMember, ['issuerAuth', rawIssuerAuth]])],
    [
      'deviceSigned',
      new Map<CborKey, Cbor>([
        ['nameSpaces', deviceNameSpaces],
        ['deviceAuth', new Map([['deviceSignature', deviceSignature]])],
      ]),
    ],
  ])
  return writeDeviceResponse(document)
}

/** Writes a DeviceResponse with one document, in base64url. */
export function writeDeviceResponse(document: Cbor): string {
  return toBase64url(
    encodeCbor(
      new Map<CborKey, Cbor>([
        ['version', MDOC_VERSION],
        ['documents', [document]],
        ['status', 0],
      ]),
    ),
  )
}

function parseCredential(credential: string): IssuerSigned {
  return readIssuerSigned(decodeCbor(fromBase64url(credential)))
}

/**
 * Makes the member `nameSpaces` with the disclosed elements, if there are any. An element is disclosed as a whole, even
 * if a position is inside of it.
 */
function shownNameSpaces(
  nameSpaces: IssuerSigned['nameSpaces'],
  positions: readonly ClaimPosition[],
): readonly (readonly [CborKey, Cbor])[] {
  const shownItems = [...nameSpaces].flatMap(([nameSpace, items]) => {
    const chosenItems = items.filter((item) => {
      const position = [nameSpace, readIdentifier(item)]
      return positions.some((each) => isWithin(position, each) || isWithin(each, position))
    })
    return chosenItems.length > 0
      ? [[nameSpace, chosenItems.map((item) => makeTagged(CBOR_TAG.encoded, item))] as const]
      : []
  })
  return shownItems.length > 0 ? [['nameSpaces', new Map(shownItems)]] : []
}

function elementsAsRead(nameSpace: string, elements: JsonObject): JsonObject {
  const entries = Object.entries(elements).map(([name, value]) => [name, toJson(toCbor(value, nameSpace, name))])
  const object: unknown = Object.fromEntries(entries)
  return isObject(object) ? object : {}
}
