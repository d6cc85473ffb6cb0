/**
 * Presentations with one thing wrong: a good one taken apart, changed, and put together again with the right keys, so
 * that nothing is wrong but what was changed.
 */
import { createPublicKey, type KeyObject, randomBytes } from 'node:crypto'
import { fromBase64url, toBase64url } from '../../src/codec/base64url.ts'
import { contextTag, writeDer, writeOctetString, writeSequence } from '../../src/codec/der.ts'
import { digestOf } from '../../src/codec/digest.ts'
import { type Json, type JsonObject, parseJson } from '../../src/codec/json.ts'
import { type Jws, readJws, writeJws } from '../../src/codec/jws.ts'
import { readSdJwt } from '../../src/codec/sd-jwt.ts'
import { EXTENSION, type KeyUsage } from '../../src/keys/certificate-extensions.ts'
import { writeName } from '../../src/keys/certificate-name.ts'
import { createSigner } from '../../src/keys/file-signer.ts'
import {
  basicConstraints,
  extendedKeyUsage,
  extension,
  keyUsage,
  makeCertificate,
  type SubjectAltNames,
  subjectAltName,
  toPem,
} from '../../src/keys/make-certificate.ts'
import type { Algorithm } from '../../src/keys/signature.ts'
import type { Signer } from '../../src/keys/signer.ts'
import { type Profile, shownPlaces, usualProfile } from './profiles.ts'
import { ISSUER_URL, makeKey, type ServiceOptions, type Services, startServices } from './services.ts'
import { holderSigner, issueCredential, presentationOf, type RequestObject } from './wire.ts'

type Sign = (data: Uint8Array) => Promise<Uint8Array>

/** A presentation in parts, all of which may be changed before it is put together again. */
export interface Forgery {
  header: JsonObject
  payload: JsonObject
  /** The disclosures; none in a format that has none. */
  disclosures: string[]
  /** Signs the credential; the issuer's key does, unless that is what is changed. */
  signCredential: Sign
  /** The key binding, or undefined for none. Its `sd_hash` is made when the parts are put together. */
  binding:
    | { header: JsonObject; payload: JsonObject; sign: Sign; sdHash: (bound: string) => Json | undefined }
    | undefined
  /** The presentation around the credential's JWT, in a format that has one. */
  vp: ((jwt: string) => Json) | undefined
  readonly profile: Profile
  /** Changes the text after everything has been signed. */
  afterwards: (text: string) => string
}

/** Both services with an issuer below a CA, the CA as the anchor, and a credential in somebody's hands. */
export interface World {
  readonly services: Services
  readonly ca: Authority
  readonly issuerKey: KeyObject
  readonly holder: Signer
  readonly credential: string
  readonly profile: Profile
}

export interface Authority {
  readonly name: Buffer
  readonly key: KeyObject
  readonly der: Buffer
}

export interface WorldOptions extends ServiceOptions {
  readonly moreAnchors?: readonly string[]
  /** The extended key usages of the issuer's certificate; none when absent. */
  readonly issuerPurposes?: readonly string[]
}

export async function startWorld({ moreAnchors = [], issuerPurposes, ...more }: WorldOptions = {}): Promise<World> {
  const ca = await makeAuthority('Example CA', { subjectKeyId: CA_KEY_ID })
  const services = await startServices({
    anchors: [toPem(ca.der), ...moreAnchors],
    issuerCertificates: (key) =>
      Promise.resolve(toPem(certify(ca, key, issuerPurposes && { purposes: issuerPurposes })) + toPem(ca.der)),
    ...more,
  })
  const holder = await holderSigner()
  const credential = await issueCredential(services, holder)
  return { services, ca, issuerKey: services.issuerKey, holder, credential, profile: usualProfile }
}

/** Returns the same services and the same holder, with a credential of another format. */
export async function inProfile(world: World, profile: Profile): Promise<World> {
  const credential = await issueCredential(world.services, world.holder, profile.configuration)
  return { ...world, profile, credential }
}

/** Makes a certification authority, which no service trusts until it is made an anchor. */
export async function makeAuthority(
  commonName: string,
  { algorithm, subjectKeyId }: { readonly algorithm?: Algorithm; readonly subjectKeyId?: string } = {},
): Promise<Authority> {
  const key = await makeKey(algorithm)
  const name = writeName([['CN', commonName]])
  const options = { name, isCa: true, usages: ['keyCertSign'], ...(subjectKeyId && { subjectKeyId }) } as const
  return { name, key, der: certify({ name, key }, key, options) }
}

export interface CertificateOptions extends SubjectAltNames {
  readonly name?: Buffer
  readonly isCa?: boolean
  readonly usages?: readonly KeyUsage[]
  /** Extended key usages, marked critical unless `isCritical` is false. */
  readonly purposes?: readonly string[]
  readonly isCritical?: boolean
  /** The beginning of the validity, in days from now. */
  readonly from?: number
  readonly until?: number
  /** The key identifier of the authority, in base64url; the certificate names none when it is absent. */
  readonly authorityKeyId?: string
  /** The key identifier of the certificate itself, in base64url; the certificate has none when it is absent. */
  readonly subjectKeyId?: string
}

/** The key identifier of the CA of a world. */
export const CA_KEY_ID = 'cm9vdA'

/** The subject of the issuer's certificate. */
export const certificateName = writeName([['CN', 'issuer.localhost']])

/** Makes a certificate for `key` by `authority`; the issuer's as it should be, but for what `options` say. */
export function certify(authority: Omit<Authority, 'der'>, key: KeyObject, options: CertificateOptions = {}): Buffer {
  const { isCa = false, usages = ['digitalSignature'], from = -30, until = 365 } = options
  const days = (count: number) => new Date(Date.now() + count * 86_400_000)
  const names = options.dnsNames || options.uris ? options : { uris: [ISSUER_URL] }
  return makeCertificate({
    subject: options.name ?? certificateName,
    publicKey: createPublicKey(key),
    issuer: { name: authority.name, privateKey: authority.key },
    serial: randomBytes(16).fill(1, 0, 1),
    notBefore: days(from),
    notAfter: days(until),
    extensions: [
      basicConstraints(isCa),
      keyUsage(usages),
      ...subjectAltName(names),
      ...keyIdsOf(options),
      ...(options.purposes ? [extendedKeyUsage(options.purposes, options.isCritical ?? true)] : []),
    ],
  })
}

function keyIdsOf({ authorityKeyId, subjectKeyId }: CertificateOptions): Buffer[] {
  const { authorityKeyIdentifier, subjectKeyIdentifier } = EXTENSION
  const [issuer, own] = [authorityKeyId, subjectKeyId].map((id) => (id === undefined ? undefined : fromBase64url(id)))
  return [
    ...(issuer
      ? [extension(authorityKeyIdentifier, false, writeSequence(writeDer(contextTag(0, 'primitive'), issuer)))]
      : []),
    ...(own ? [extension(subjectKeyIdentifier, false, writeOctetString(own))] : []),
  ]
}

/** Makes a presentation for the request that shows both names and the degrees of the subject, in parts. */
export async function makeForgery(world: World, request: RequestObject): Promise<Forgery> {
  const { services, holder, credential, issuerKey, profile } = world
  const { format } = profile
  const at = { now: services.clock.now, places: shownPlaces(profile), format }
  const text = await presentationOf(credential, holder, request, at)
  const parts = profile.sdJwt ? partsOfSdJwt(text) : partsOfVp(text)
  return {
    header: parts.jws.header,
    payload: parts.jws.payload,
    disclosures: [...parts.disclosures],
    signCredential: signWith(issuerKey),
    binding: { ...parts.binding, sign: (data) => holder.sign(data), sdHash: digestOf },
    vp: parts.vp,
    profile,
    afterwards: (presentation) => presentation,
  }
}

interface Parts {
  readonly jws: Jws
  readonly disclosures: readonly string[]
  /** The parts that the holder signs, except for those that are made when the parts are put together. */
  readonly binding: { readonly header: JsonObject; readonly payload: JsonObject }
  readonly vp: Forgery['vp']
}

function partsOfSdJwt(text: string): Parts {
  const { jws, disclosures, keyBinding } = readSdJwt(text)
  if (keyBinding === undefined) throw new Error('no key binding')
  const { header, payload } = keyBinding
  return { jws, disclosures, binding: { header, payload: without(payload, 'sd_hash') }, vp: undefined }
}

function partsOfVp(text: string): Parts {
  const { header, payload } = readJws(text)
  const vp = payload.vp as JsonObject
  const [jwt] = vp.verifiableCredential as string[]
  return {
    jws: readJws(jwt ?? ''),
    disclosures: [],
    binding: { header, payload: without(payload, 'vp') },
    vp: (presentation) => ({ ...vp, verifiableCredential: [presentation] }),
  }
}

function without(object: JsonObject, name: string): JsonObject {
  return Object.fromEntries(Object.entries(object).filter(([member]) => member !== name))
}

export async function putTogether(forgery: Forgery): Promise<string> {
  const { header, payload, disclosures, signCredential, binding, vp, afterwards } = forgery
  const jwt = await writeJws(header, payload, signCredential)
  if (vp !== undefined) {
    if (binding === undefined) return afterwards(jwt)
    return afterwards(await writeJws(binding.header, { ...binding.payload, vp: vp(jwt) }, binding.sign))
  }
  const bound = [jwt, ...disclosures, ''].join('~')
  if (binding === undefined) return afterwards(bound)
  const hash = binding.sdHash(bound)
  const claims = { ...binding.payload, ...(hash === undefined ? {} : { sd_hash: hash }) }
  return afterwards(bound + (await writeJws(binding.header, claims, binding.sign)))
}

/** Returns a signature function with the algorithm of the key. */
export function signWith(key: KeyObject): Sign {
  return (data) => createSigner(key, []).sign(data)
}

/** Encodes a disclosure: `[name, value]`, or `[value]` for an array's element. */
export function disclosure(...content: Json[]): string {
  return toBase64url(JSON.stringify([toBase64url(randomBytes(16)), ...content]))
}

/** Conceals a claim in `object`, which is part of the payload, and discloses it again. */
export function conceal(forgery: Forgery, object: JsonObject, text: string): void {
  object._sd = [...((object._sd as Json[] | undefined) ?? []), digestOf(text)]
  forgery.disclosures.push(text)
}

/** Moves a member of `object` behind a digest, disclosed. */
export function concealMember(forgery: Forgery, object: JsonObject, name: string): void {
  const value = object[name] as Json
  Reflect.deleteProperty(object, name)
  conceal(forgery, object, disclosure(name, value))
}

/** Returns the object with the claims of the subject in the payload. */
export function subjectOf({ payload, profile }: Forgery): JsonObject {
  return inside(payload, profile.inPayload)
}

/** Returns the object with the members of a W3C credential in the payload. */
export function w3cOf({ payload, profile }: Forgery): JsonObject {
  if (profile.w3c === undefined) throw new Error(`${profile.format} is not a W3C credential`)
  return inside(payload, profile.w3c)
}

function inside(object: JsonObject, names: readonly string[]): JsonObject {
  return names.reduce<JsonObject>((value, name) => value[name] as JsonObject, object)
}

/** Returns the disclosure of the claim of that name. */
export function disclosureOf(forgery: Forgery, name: string): string {
  const disclosure = forgery.disclosures.find((text) => (contentOf(text) as Json[])[1] === name)
  if (disclosure === undefined) throw new Error(`no disclosure of ${name}`)
  return disclosure
}

export function contentOf(text: string): Json {
  return parseJson(Buffer.from(text, 'base64url').toString())
}
