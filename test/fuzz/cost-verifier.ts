/** The endpoints of the verifier that need no API key, for the search of costly requests. */
import { randomBytes } from 'node:crypto'
import { toBase64url } from '../../src/codec/base64url.ts'
import type { Json, JsonObject } from '../../src/codec/json.ts'
import { encryptJwe } from '../../src/keys/jwe.ts'
import { readPublicJwk } from '../../src/keys/jwk.ts'
import { makePrivateJwk } from '../../src/keys/private-jwk.ts'
import { responseEncryptionMetadata } from '../../src/verifier/response-encryption.ts'
import { responseKey } from '../support/encryption.ts'
import { mdocQuery } from '../support/mdoc.ts'
import { type Profile, profiles } from '../support/profiles.ts'
import { VERIFIER_URL } from '../support/services.ts'
import { call, type RequestObject } from '../support/wire.ts'
import { grownMdoc, mdocPlaces } from './cost-mdoc.ts'
import { grownPresentation, placesOf } from './cost-presentations.ts'
import { bare, FORM, formOf } from './cost-request.ts'
import type { CostRequest, CostTarget, CostWorld } from './cost-world.ts'
import { type Growth, grown, grownValue, writeGrown } from './growth.ts'

const FIELDS = ['form.state', 'form.error', 'form.error_description', 'form.extra', 'form.presentation_submission']
const TOKENS = ['vp_token.it', 'vp_token.other', 'vp_token.copies', 'form', 'whole']
const JWE = [
  'jwe.alg',
  'jwe.epk',
  'jwe.epk.x',
  'jwe.apu',
  'jwe.kid',
  'jwe.extra',
  'members.state',
  'members.extra',
  'members.vp_token',
]
const WALLET = ['jwks', 'jwks.keys', 'vp_formats_supported', 'request_object_encryption_enc_values_supported', 'extra']

/** Makes a query that asks for much of a credential, in as many ways as a query can. */
function richQuery({ format, meta, root }: Profile): JsonObject {
  const claim = (id: string, ...path: Json[]) => ({ id, path: [...root, ...path] })
  const values = Array.from({ length: 50 }, (_, at) => `value ${at}`)
  return {
    ...{ id: 'card', format, meta, multiple: true },
    claims: [
      claim('all', 'degrees', null),
      { ...claim('some', 'extra', null), values },
      claim('inner', 'degrees', null, null, 'a'),
      claim('extra', 'extra', null, 'a'),
      claim('name', 'given_name'),
    ],
    claim_sets: [['inner'], ['extra', 'all'], ['some', 'name'], ['name']],
  }
}

async function sessionFor(world: CostWorld, name: string, query: JsonObject) {
  const { services } = world.world
  const id = world.queries.get(name) ?? (await createQuery(world, query))
  world.queries.set(name, id)
  const session = await call(services, `${VERIFIER_URL}/presentation/oid4vp/new-session`, { verification_query_id: id })
  const { session_id: sessionId } = (await session.json()) as { readonly session_id: string }
  const answer = await services.fetch(`${VERIFIER_URL}/presentation/oid4vp/authorization-request/${sessionId}`)
  const [, payload = ''] = (await answer.text()).split('.')
  return { sessionId, request: JSON.parse(Buffer.from(payload, 'base64url').toString()) as RequestObject }
}

async function createQuery({ world }: CostWorld, query: JsonObject): Promise<string> {
  const created = await call(world.services, `${VERIFIER_URL}/dcql-query/create`, query)
  if (created.status !== 201) throw new Error(await created.text())
  return created.text()
}

/** Returns the presentations of the one credential query, and what has grown beside them. */
function vpToken(id: string, presentation: string, growths: readonly Growth[]): JsonObject {
  const copies = growths.find(({ place }) => place === 'vp_token.copies')
  const presentations = Array<Json>(copies === undefined ? 1 : 1 + Math.min(copies.size, 19)).fill(presentation)
  const others = growths.filter(({ place }) => /^vp_token\.(it|other)$/.test(place))
  const more = others.map((growth) => [growth.place.endsWith('it') ? id : 'other', grownValue(growth)] as const)
  return { [id]: presentations, ...Object.fromEntries(more) }
}

/** Makes a response in the clear with a credential of the format, with other `members` in its payload. */
export async function plainResponse(
  world: CostWorld,
  format: string,
  growths: readonly Growth[],
  members: JsonObject = {},
): Promise<CostRequest> {
  const profile = profileOf(format)
  const { request } = await sessionFor(world, format, { credentials: [richQuery(profile)] })
  const held = { ...world.world, profile, credential: world.credentials.get(format) ?? '' }
  const presentation = await grownPresentation(held, request, growths, members)
  const fields = { state: request.state, vp_token: writeGrown(vpToken('card', presentation, growths)) }
  const path = new URL(request.response_uri).pathname
  return { service: 'verifier', method: 'POST', path, headers: FORM, body: formOf(fields, growths) }
}

function profileOf(format: string): Profile {
  const profile = profiles.find((each) => each.format === format)
  if (profile === undefined) throw new Error(`no profile of ${format}`)
  return profile
}

function plain(profile: Profile): CostTarget {
  const { format } = profile
  return {
    name: `verifier response, ${format}`,
    bytes: 280_000,
    places: [...placesOf(profile), ...placesOf(profile), ...FIELDS, ...TOKENS],
    make: (world, growths) => plainResponse(world, format, growths),
  }
}

/** A response to be encrypted, and the session that it is for. */
type SealedPresentation = { readonly sessionId: string; readonly request: RequestObject; readonly presentation: string }

function encryptedTarget(
  name: string,
  places: readonly string[],
  seal: (world: CostWorld, growths: readonly Growth[]) => Promise<SealedPresentation>,
): CostTarget {
  return {
    name: `verifier encrypted response, ${name}`,
    bytes: 280_000,
    places: [...places, ...places, ...JWE, ...FIELDS, ...TOKENS],
    make: async (world, growths) => {
      const { sessionId, request, presentation } = await seal(world, growths)
      const token = vpToken(name === 'mso_mdoc' ? 'licence' : 'card', presentation, growths)
      const members = grown({ vp_token: token, state: request.state }, 'members', growths)
      const fields = { response: await jweOf(request, writeGrown(members), growths) }
      const path = `/presentation/oid4vp/encrypted-authorization-response/${sessionId}`
      return { service: 'verifier', method: 'POST', path, headers: FORM, body: formOf(fields, growths) }
    },
  }
}

async function jweOf(request: RequestObject, text: string, growths: readonly Growth[]): Promise<string> {
  const { kid, ...key } = responseKey(request)
  const jwk = readPublicJwk(key)
  const jwe = await encryptJwe(text, { jwk, alg: 'ECDH-ES', kid, enc: 'A256GCM' })
  if (!growths.some(({ place }) => place.startsWith('jwe.'))) return jwe
  const [header = '', ...rest] = jwe.split('.')
  const members = JSON.parse(Buffer.from(header, 'base64url').toString()) as Json
  return [toBase64url(writeGrown(grown(members, 'jwe', growths))), ...rest].join('.')
}

async function sealedMdoc(world: CostWorld, growths: readonly Growth[]): Promise<SealedPresentation> {
  const session = await sessionFor(world, 'mso_mdoc', mdocQuery)
  return { ...session, presentation: await grownMdoc(world, session.request, growths) }
}

/** Turns a session of a query that is answered in the clear into one that is not. */
async function sealedSdJwt(world: CostWorld, growths: readonly Growth[]): Promise<SealedPresentation> {
  const { world: services } = world
  const profile = profileOf('jwt_vc_json-ld')
  const { sessionId, request } = await sessionFor(world, profile.format, { credentials: [richQuery(profile)] })
  const { verifierStore } = services.services
  const row = await verifierStore.get('verification_session', sessionId)
  if (row === undefined) throw new Error('no session')
  const encryptionKey = makePrivateJwk(randomBytes)
  const value = { ...row.value, responseMode: 'direct_post.jwt', encryptionKey } as const
  await verifierStore.commit([{ update: 'verification_session', id: sessionId, version: row.version, value }])
  const presentation = await grownPresentation(services, request, growths)
  return {
    sessionId,
    request: { ...request, client_metadata: responseEncryptionMetadata(encryptionKey) },
    presentation,
  }
}

const requestObject: CostTarget = {
  name: 'verifier POST authorization-request',
  bytes: 48_000,
  places: [
    ...WALLET.map((name) => `metadata.${name}`),
    ...WALLET.map((name) => `metadata.jwks.keys.0.${name}`),
    'form.wallet_nonce',
    'form',
    'whole',
  ],
  make: async (world, growths) => {
    const { sessionId } = await sessionFor(world, 'mso_mdoc', mdocQuery)
    const key = { ...makePrivateJwk(randomBytes), d: undefined, alg: 'ECDH-ES', use: 'enc' }
    const metadata = grown({ jwks: { keys: [JSON.parse(JSON.stringify(key)) as Json] } }, 'metadata', growths)
    const fields = { wallet_nonce: 'n', wallet_metadata: writeGrown(metadata) }
    const path = `/presentation/oid4vp/authorization-request/${sessionId}`
    return { service: 'verifier', method: 'POST', path, headers: FORM, body: formOf(fields, growths) }
  },
}

export const verifierTargets: readonly CostTarget[] = [
  ...profiles.map(plain),
  encryptedTarget('mso_mdoc', mdocPlaces, sealedMdoc),
  encryptedTarget('jwt_vc_json-ld', placesOf(profileOf('jwt_vc_json-ld')), sealedSdJwt),
  requestObject,
  bare('verifier', 'GET', '/presentation/oid4vp/authorization-request/a'),
  bare('verifier', 'POST', '/presentation/oid4vp/authorization-response/a', FORM),
  bare('verifier', 'POST', '/presentation/oid4vp/digital-credentials/a'),
  bare('verifier', 'POST', '/presentation/oid4vp/new-session'),
  bare('verifier', 'GET', '/openapi'),
]
