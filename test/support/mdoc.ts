/**
 * Mobile documents with one thing wrong: a good DeviceResponse taken apart, changed, and put together again with the
 * right keys, so that nothing is wrong but what was changed, as forge.ts does for SD-JWT.
 */
import { fromBase64url, toBase64url } from '../../src/codec/base64url.ts'
import {
  asEmbeddedBytes,
  asMap,
  asText,
  CBOR_TAG,
  type Cbor,
  type CborKey,
  decodeCbor,
  embedCbor,
  encodeCbor,
  makeTagged,
  readEmbedded,
} from '../../src/codec/cbor.ts'
import { signedBytes } from '../../src/codec/cose.ts'
import type { Binding } from '../../src/credential/format.ts'
import { formatOf } from '../../src/credential/formats.ts'
import { deviceAuthentication } from '../../src/credential/mso-mdoc/device-auth.ts'
import { digestItem } from '../../src/credential/mso-mdoc/elements.ts'
import { readPublicJwk, thumbprint } from '../../src/keys/jwk.ts'
import { responseKey } from './encryption.ts'
import { signWith, startWorld, type World, type WorldOptions } from './forge.ts'
import type { Profile } from './profiles.ts'
import { bindingTo, issueCredential, type RequestObject } from './wire.ts'

export const MDL = 'org.iso.18013.5.1.mDL'
export const NAMESPACE = 'org.iso.18013.5.1'
export const OTHER_NAMESPACE = 'org.example.extra'

export const mdocConfiguration = {
  format: 'mso_mdoc',
  doctype: MDL,
  credential_metadata: {
    display: [{ name: 'Driving licence', locale: 'en-GB' }],
    claims: [{ path: [NAMESPACE, 'family_name'], mandatory: true, display: [{ name: 'Family name' }] }],
  },
}

export const mdocDataset = {
  [NAMESPACE]: {
    family_name: 'Lovelace',
    given_name: 'Ada',
    birth_date: '1815-12-10',
    age_over_18: true,
    portrait: 'data:image/jpeg;base64,/9j/4AAQSkZJRg==',
    driving_privileges: [{ vehicle_category_code: 'B', issue_date: '2020-01-31', codes: [{ code: '01' }] }],
  },
  [OTHER_NAMESPACE]: { height: 1.67, note: 'countess' },
}

export const mdocQuery = {
  credentials: [
    {
      id: 'licence',
      format: 'mso_mdoc',
      meta: { doctype_value: MDL },
      claims: [{ path: [NAMESPACE, 'family_name'], intent_to_retain: false }],
    },
  ],
}

/** The names that the tests for every format use. */
export const mdocProfile: Profile = {
  format: 'mso_mdoc',
  configuration: mdocConfiguration,
  meta: { doctype_value: MDL },
  root: [NAMESPACE],
  inPayload: [],
  w3c: undefined,
  sdJwt: false,
}

type Sign = (data: Uint8Array) => Promise<Uint8Array>
type Members = Map<CborKey, Cbor>

/** A COSE_Sign1 in parts. */
export interface Sign1Parts {
  protectedHeader: Members
  unprotectedHeader: Members
  sign: Sign
}

/** A DeviceResponse in parts, all of which may be changed before it is put together again. */
export interface MdocForgery {
  /** The members of the DeviceResponse beside `documents`. */
  response: Members
  docType: string
  /** The items of each namespace as they are sent, inside their tag 24. */
  nameSpaces: Map<string, Uint8Array[]>
  mso: Members
  issuerAuth: Sign1Parts
  /** The parts of deviceSigned, or undefined for none. */
  device:
    | (Sign1Parts & {
        nameSpaces: Members
        session: Binding
        /** The bytes that the device signs, which nobody sends. */
        payload: (forgery: MdocForgery) => Uint8Array
        /** Makes `deviceAuth` of the COSE_Sign1. */
        auth: (deviceSignature: Cbor) => Cbor
      })
    | undefined
  /** Changes the COSE_Sign1 of the issuer, the document and the whole response after everything has been signed. */
  seal: (issuerAuth: readonly Cbor[]) => Cbor
  finish: (document: Members, response: Members) => void
  afterwards: (bytes: Uint8Array) => Uint8Array | string
}

/** Starts the services like `startWorld`, with a mobile document of a holder. */
export async function startMdocWorld(more: WorldOptions = {}): Promise<World> {
  const world = await startWorld(more)
  return {
    ...world,
    profile: mdocProfile,
    credential: await issueCredential(world.services, world.holder, mdocConfiguration, mdocDataset),
  }
}

/** Makes a binding to the request of a verifier, which wants an encrypted response. */
export function bindingOf(request: RequestObject, at: Date) {
  return {
    ...bindingTo(request.nonce, request.client_id, at),
    recipient: { responseUri: request.response_uri },
    encryptionKeyThumbprint: Buffer.from(thumbprint(readPublicJwk(responseKey(request))), 'base64url'),
  }
}

/** Returns the URL of a response that is posted. */
export function responseUriOf(recipient: Binding['recipient']): string {
  if ('origin' in recipient) throw new Error('the response goes to a page')
  return recipient.responseUri
}

/** Makes a presentation for the request that shows everything, in parts. */
export async function makeMdocForgery(world: World, session: Binding & { readonly at: Date }): Promise<MdocForgery> {
  const { holder, credential, issuerKey } = world
  const text = (await formatOf('mso_mdoc')?.present(credential, [[]], session, holder)) ?? ''
  const response = new Map(asMap(decodeCbor(fromBase64url(text)), 'it'))
  const [document] = response.get('documents') as readonly Cbor[]
  response.delete('documents')
  const parts = asMap(document, 'it')
  const issuerSigned = asMap(parts.get('issuerSigned'), 'it')
  const [issuerHeader, issuerUnprotected, payload] = issuerSigned.get('issuerAuth') as readonly Cbor[]
  const deviceSigned = asMap(parts.get('deviceSigned'), 'it')
  const [deviceHeader, deviceUnprotected] = asMap(deviceSigned.get('deviceAuth'), 'it').get(
    'deviceSignature',
  ) as readonly Cbor[]
  return {
    response,
    docType: asText(parts.get('docType'), 'it'),
    nameSpaces: new Map(
      [...asMap(issuerSigned.get('nameSpaces'), 'it')].map(([name, items]) => [
        String(name),
        (items as readonly Cbor[]).map((item) => asEmbeddedBytes(item, 'it')),
      ]),
    ),
    mso: membersOf(readEmbedded(decodeCbor(payload as Uint8Array), 'it')),
    issuerAuth: {
      protectedHeader: membersOf(decodeCbor(issuerHeader as Uint8Array)),
      unprotectedHeader: membersOf(issuerUnprotected),
      sign: signWith(issuerKey),
    },
    device: {
      protectedHeader: membersOf(decodeCbor(deviceHeader as Uint8Array)),
      unprotectedHeader: membersOf(deviceUnprotected),
      sign: (data) => holder.sign(data),
      nameSpaces: new Map(),
      session,
      payload: ({ docType, device }) =>
        deviceAuthentication(device?.session ?? session, docType, embedCbor(device?.nameSpaces ?? new Map())),
      auth: (deviceSignature) => new Map([['deviceSignature', deviceSignature]]),
    },
    seal: (issuerAuth) => issuerAuth,
    finish: () => undefined,
    afterwards: (bytes) => bytes,
  }
}

export async function putMdocTogether(forgery: MdocForgery): Promise<string> {
  const { nameSpaces, mso, issuerAuth, device } = forgery
  const items = [...nameSpaces].map(
    ([name, each]) => [name, each.map((item) => makeTagged(CBOR_TAG.encoded, item))] as const,
  )
  const payload = encodeCbor(embedCbor(mso))
  const sealed = forgery.seal(await sign1(issuerAuth, payload, payload))
  const document: Members = new Map<CborKey, Cbor>([
    ['docType', forgery.docType],
    [
      'issuerSigned',
      new Map<CborKey, Cbor>([
        ...(items.length > 0 ? [['nameSpaces', new Map(items)] as const] : []),
        ['issuerAuth', sealed],
      ]),
    ],
  ])
  if (device !== undefined) {
    const auth = device.auth(await sign1(device, device.payload(forgery), null))
    document.set(
      'deviceSigned',
      new Map<CborKey, Cbor>([
        ['nameSpaces', embedCbor(device.nameSpaces)],
        ['deviceAuth', auth],
      ]),
    )
  }
  const response = new Map(forgery.response).set('documents', [document])
  forgery.finish(document, response)
  const deviceResponse = forgery.afterwards(encodeCbor(response))
  return typeof deviceResponse === 'string' ? deviceResponse : toBase64url(deviceResponse)
}

export function deviceOf(forgery: MdocForgery): NonNullable<MdocForgery['device']> {
  if (forgery.device === undefined) throw new Error('no deviceSigned')
  return forgery.device
}

/** Copies a decoded map, so that a test may change it. */
export function membersOf(value: Cbor | undefined): Members {
  return new Map(asMap(value, 'it'))
}

/** Returns the item of the element of that name, decoded, and where it stands. */
export function itemOf(forgery: MdocForgery, name: string) {
  const items = forgery.nameSpaces.get(NAMESPACE) ?? []
  const index = items.findIndex((item) => asMap(decodeCbor(item), 'it').get('elementIdentifier') === name)
  const bytes = items[index]
  if (bytes === undefined) throw new Error(`no element ${name}`)
  return { items, index, bytes, item: membersOf(decodeCbor(bytes)) }
}

/** Sends other bytes for an item; with `signed`, the issuer signed the digest of them. */
export function replaceItem(forgery: MdocForgery, name: string, bytes: Uint8Array, signed: boolean): void {
  const { items, index, item } = itemOf(forgery, name)
  items[index] = bytes
  if (signed) digestsOf(forgery).set(item.get('digestID') as number, digestItem(bytes))
}

/** Returns the digests of the namespace, to be changed in place. */
export function digestsOf({ mso }: MdocForgery): Members {
  const all = membersOf(mso.get('valueDigests'))
  const digests = membersOf(all.get(NAMESPACE))
  mso.set('valueDigests', all.set(NAMESPACE, digests))
  return digests
}

async function sign1({ protectedHeader, unprotectedHeader, sign }: Sign1Parts, payload: Uint8Array, sent: Cbor) {
  const header = encodeCbor(protectedHeader)
  return [header, unprotectedHeader, sent, await sign(signedBytes(header, payload))] as const
}
