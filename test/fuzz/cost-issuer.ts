/** The endpoints of the issuer that need no API key, for the search of costly requests. */

import { toBase64url } from '../../src/codec/base64url.ts'
import type { Json, JsonObject } from '../../src/codec/json.ts'
import { toDidJwk } from '../../src/keys/did.ts'
import { attestationOf, makeAttester } from '../support/attestation.ts'
import { dpopNonce, dpopProof } from '../support/dpop.ts'
import { encryptedRequest } from '../support/encryption.ts'
import { TOKEN_ENDPOINT } from '../support/issuance.ts'
import { ISSUER_URL } from '../support/services.ts'
import { codeOf, fetchNonce, GRANT, holderSigner, redeem, startIssuance } from '../support/wire.ts'
import { attestedTokenTarget } from './cost-attestation.ts'
import { grownCertificates } from './cost-certificates.ts'
import { codeFlowCostTargets } from './cost-code-flow.ts'
import { bare, FORM, formOf } from './cost-request.ts'
import { type CostTarget, type CostWorld, grownJws } from './cost-world.ts'
import { type Growth, grown, grownHeader, grownText, grownValue, writeGrown } from './growth.ts'

const attester = makeAttester()
const holder = holderSigner()
const DETAILS = ['details.type', 'details.locations', 'details.credential_configuration_id', 'details.extra', 'details']
const PROOF = [
  'header.jwk',
  'header.kid',
  'header.x5c',
  'header.typ',
  'header.key_attestation',
  'header.trust_chain',
  'header.extra',
]
const CLAIMS = ['payload.nonce', 'payload.aud', 'payload.iat', 'payload.iss', 'payload.exp', 'payload.extra']
const ATTESTED = ['attested_keys', 'attested_keys.0', 'attested_keys.0.x', 'key_storage', 'status', 'nonce', 'extra']
const REQUEST = [
  'credential_configuration_id',
  'credential_identifier',
  'proofs',
  'proofs.jwt',
  'proof',
  'format',
  'extra',
]
const ENCRYPTION = [
  'credential_response_encryption',
  'credential_response_encryption.jwk',
  'credential_response_encryption.jwk.x',
]

async function sessionOf({ world, configurationId }: CostWorld): Promise<string> {
  return (await startIssuance(world.services, { credential_configurations: [configurationId] })).sessionId
}

const token: CostTarget = {
  name: 'issuer POST token',
  bytes: 11_000,
  places: [
    ...DETAILS,
    'form.tx_code',
    'form.pre-authorized_code',
    'form.grant_type',
    'form.refresh_token',
    'form.extra',
    'form',
    'whole',
    'dpop',
    'dpop.end',
  ],
  make: async (world, growths) => {
    const { services } = world.world
    const sessionId = await sessionOf(world)
    const detail = { type: 'openid_credential', credential_configuration_id: world.configurationId }
    const details = grown(
      [detail],
      'details',
      growths.map((each) => ({ ...each, place: each.place.replace('details.', 'details.0.') })),
    )
    const whole = growths.find(({ place }) => place === 'details')
    const fields = {
      grant_type: GRANT,
      'pre-authorized_code': await codeOf(services, sessionId),
      authorization_details: writeGrown(whole === undefined ? details : grownValue(whole)),
    }
    const proof = await dpopOf(world, growths)
    const headers = { ...FORM, ...(proof === undefined ? {} : { dpop: proof }) }
    return { service: 'issuer', method: 'POST', path: '/auth/token-endpoint', headers, body: formOf(fields, growths) }
  },
}

/**
 * Makes a proof of possession for the header, whose payload or end has grown; undefined where nothing of it is to grow.
 */
async function dpopOf({ world }: CostWorld, growths: readonly Growth[]): Promise<string | undefined> {
  const growth = growths.find(({ place }) => place.startsWith('dpop'))
  if (growth === undefined) return undefined
  const key = await holder
  const parts = { services: world.services, key, url: TOKEN_ENDPOINT, nonce: await dpopNonce(world.services) }
  const jwt = await dpopProof(parts)
  if (growth.place === 'dpop.end') return (jwt + grownHeader(growth)).slice(0, 12_000)
  const [header = {}, payload = {}] = jwt
    .split('.')
    .slice(0, 2)
    .map((part) => JSON.parse(Buffer.from(part, 'base64url').toString()) as JsonObject)
  const value = grownHeader(growth, 5500)
  const jws =
    growth.size % 2 === 0
      ? grownJws(header, { ...payload, htu: value }, (data) => key.sign(data))
      : grownJws({ ...header, x: value }, payload, (data) => key.sign(data))
  return jws
}

/** Makes proofs whose header and payload have grown, with a key attestation where that is to grow. */
async function proofsOf(world: CostWorld, sessionId: string, growths: readonly Growth[]): Promise<string[]> {
  const { services } = world.world
  const key = await holder
  const nonce = await fetchNonce(services, sessionId)
  const now = Math.floor(services.clock.now.getTime() / 1000)
  const kid = `${toDidJwk(key.jwk)}#0`
  const chain = growths.find(({ place }) => place === 'x5c')
  const keyMember: JsonObject = chain
    ? { x5c: grownCertificates(world.world, chain).map((der) => der.toString('base64')) }
    : { kid }
  const attested = growths.some(({ place }) => place.startsWith('attested.'))
    ? { key_attestation: await attestation(world, nonce, growths) }
    : {}
  const header = grown({ typ: 'openid4vci-proof+jwt', alg: key.alg, ...keyMember, ...attested }, 'header', growths)
  const payload = grown({ nonce, aud: `${ISSUER_URL}/${sessionId}`, iat: now }, 'payload', growths)
  const jwt = await grownJws(header, payload, (data) => key.sign(data))
  const copies = growths.find(({ place }) => place === 'copies')
  return Array<string>(copies === undefined ? 1 : Math.min(copies.size, 1000)).fill(jwt)
}

async function attestation({ world }: CostWorld, nonce: string, growths: readonly Growth[]): Promise<string> {
  const { jwk } = await holder
  const { signer } = await attester
  const good = await attestationOf(await attester, [jwk], world.services.clock.now, { payload: { nonce } })
  const [header = {}, payload = {}] = good
    .split('.')
    .slice(0, 2)
    .map((part) => JSON.parse(Buffer.from(part, 'base64url').toString()) as JsonObject)
  return grownJws(header, grown(payload, 'attested', growths), (data) => signer.sign(data))
}

function credential(name: string, isEncrypted: boolean): CostTarget {
  const proof = [...PROOF, ...CLAIMS, ...ATTESTED.map((each) => `attested.${each}`), 'x5c', 'x5c', 'copies', 'copies']
  return {
    name: `issuer POST credential-request${name}`,
    bytes: 180_000,
    places: [...proof, ...[...REQUEST, ...ENCRYPTION].map((each) => `request.${each}`), 'whole', 'authorization'],
    make: async (world, growths) => {
      const { services } = world.world
      const sessionId = await sessionOf(world)
      const accessToken = await redeem(services, sessionId)
      const jwt = await proofsOf(world, sessionId, growths)
      const body = writeGrown(
        grown({ credential_configuration_id: world.configurationId, proofs: { jwt } }, 'request', growths),
      )
      const whole = growths.find(({ place }) => place === 'whole')
      const behind = growths.find(({ place }) => place === 'authorization')
      const authorization = `Bearer ${accessToken}${behind === undefined ? '' : grownHeader(behind)}`
      const text = whole === undefined ? body : grownText(whole)
      return {
        ...{ service: 'issuer', method: 'POST', path: '/issuance/oid4vci/credential-request' },
        headers: { authorization, 'content-type': isEncrypted ? 'application/jwt' : 'application/json' },
        body: isEncrypted ? await encryptedTo(world, text, growths) : text,
      }
    },
  }
}

/** Encrypts the request, and packs it: what has grown is then small on its way. */
async function encryptedTo({ world }: CostWorld, text: string, growths: readonly Growth[]): Promise<string> {
  const metadata = (await (
    await world.services.fetch(`${ISSUER_URL}/.well-known/openid-credential-issuer`)
  ).json()) as JsonObject
  const zip = growths.some(({ size }) => size % 2 === 0) ? { zip: 'DEF' } : {}
  return encryptedRequest(metadata, text, { enc: 'A256GCM', ...zip })
}

function withToken(name: string, members: JsonObject): CostTarget {
  const places = [...Object.keys(members), 'extra', 'event_description'].map((member) => `request.${member}`)
  return {
    name: `issuer POST ${name}`,
    isRefused: true,
    bytes: 12_000,
    places: [...places, 'whole', 'authorization'],
    make: async (world, growths) => {
      const sessionId = await sessionOf(world)
      const whole = growths.find(({ place }) => place === 'whole')
      const behind = growths.find(({ place }) => place === 'authorization')
      const accessToken = await redeem(world.world.services, sessionId)
      const authorization = `Bearer ${accessToken}${behind === undefined ? '' : grownHeader(behind)}`
      return {
        ...{ service: 'issuer', method: 'POST', path: `/issuance/oid4vci/${name}` },
        headers: { authorization, 'content-type': 'application/json' },
        body: whole === undefined ? writeGrown(grown(members, 'request', growths)) : grownText(whole),
      }
    },
  }
}

/** The target has an access token that nobody gave out. */
const forged: CostTarget = {
  name: 'issuer POST credential-request, a token of nobody',
  isRefused: true,
  bytes: 180_000,
  places: ['header.kid', 'header.extra', 'payload.sub', 'payload.extra', 'text'],
  make: async (_, growths) => {
    const key = await holder
    const short = growths.map((growth) => ({ ...growth, size: Math.min(growth.size, 5000) }))
    const jwt = await grownJws(
      grown({ typ: 'at+jwt', alg: 'ES256' }, 'header', short),
      grown({ sub: 'a' }, 'payload', short),
      (data) => key.sign(data),
    )
    const text = short.find(({ place }) => place === 'text')
    const authorization = `Bearer ${text === undefined ? jwt.slice(0, 12_000) : grownHeader(text)}`
    const headers = { authorization, 'content-type': 'application/json' }
    return { service: 'issuer', method: 'POST', path: '/issuance/oid4vci/credential-request', headers, body: '{}' }
  },
}

const documents = ['openid-credential-issuer', 'oauth-authorization-server'].map((name) => `/.well-known/${name}`)

export const issuerTargets: readonly CostTarget[] = [
  token,
  ...codeFlowCostTargets,
  attestedTokenTarget,
  credential('', false),
  credential(', encrypted', true),
  withToken('deferred-credential', { transaction_id: toBase64url('a') }),
  withToken('notification', { notification_id: 'a', event: 'credential_failure' } satisfies Record<string, Json>),
  forged,
  bare('issuer', 'POST', '/issuance/oid4vci/nonce'),
  bare('issuer', 'POST', '/issuance/oid4vci/nonce/a'),
  bare('issuer', 'POST', '/issuance/oid4vci/credential-request'),
  bare('issuer', 'POST', '/auth/token-endpoint', FORM),
  bare('issuer', 'POST', '/issuance/oid4vci/new-session'),
  bare('issuer', 'GET', '/issuance/oid4vci/credential-offer/a'),
  bare('issuer', 'GET', '/status-list/a'),
  bare('issuer', 'GET', '/auth/authorize'),
  bare('issuer', 'GET', '/auth/authorize/a'),
  bare('issuer', 'GET', '/auth/return/a'),
  bare('issuer', 'POST', '/auth/par', FORM),
  bare('issuer', 'GET', '/auth/.well-known/jwks'),
  ...documents.flatMap((path) => [bare('issuer', 'GET', path), bare('issuer', 'GET', `${path}/a`)]),
]
