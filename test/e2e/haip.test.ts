/**
 * An issuer by the profile HAIP: a test for each of its demands on the issuer, and the whole walk of a wallet that
 * knows nothing else. HAIP 1.0, OpenID for Verifiable Credential Issuance, and SD-JWT VC.
 */
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { readSdJwt } from '../../src/codec/sd-jwt.ts'
import { type IssuerCollections, issuerMigrations } from '../../src/issuer/collections.ts'
import { parseCertificate } from '../../src/keys/certificate.ts'
import { planPresentation, sendPresentation } from '../../src/wallet/present.ts'
import { receiveOffer, receiveWalletInitiated } from '../../src/wallet/receive.ts'
import { renewCredential } from '../../src/wallet/renewal.ts'
import type { StoredCredential } from '../../src/wallet/stored-credential.ts'
import { authorizeUrl, newVisitor, PAR, SCOPE, visit, walletAsking } from '../support/code-flow.ts'
import { dpopNonce, dpopProof } from '../support/dpop.ts'
import { type HaipWorld, haipCard, haipWallet, startHaip } from '../support/haip.ts'
import { expectRefusal, TOKEN_ENDPOINT } from '../support/issuance.ts'
import { mdocConfiguration, mdocDataset, mdocQuery } from '../support/mdoc.ts'
import { ISSUER_URL, startServices, VERIFIER_URL } from '../support/services.ts'
import { act } from '../support/status.ts'
import { openTestStore } from '../support/store.ts'
import { errorOf } from '../support/wallet.ts'
import { fetchChallenge, popOf, WALLET, walletAttestation } from '../support/wallet-attestation.ts'
import {
  call,
  configuration,
  declare,
  GRANT,
  holderSigner,
  postForm,
  startIssuance,
  startVerification,
  statusOf,
} from '../support/wire.ts'

const NEW_SESSION = `${ISSUER_URL}/issuance/oid4vci/new-session`
const card = { given_name: 'Ada', family_name: 'Lovelace' }
const ask = { credentialIssuer: ISSUER_URL, credential: { scope: SCOPE } }

let world: HaipWorld
let id: string
beforeAll(async () => {
  world = await startHaip()
  id = await declare(world.services, haipCard)
  return () => world.services.close()
})

const document = async (name: string): Promise<Record<string, unknown>> => {
  const response = await world.services.fetch(`${ISSUER_URL}/.well-known/${name}`)
  return (await response.json()) as Record<string, unknown>
}

describe('the metadata by HAIP', () => {
  it('has the authorization code flow with pushed requests, S256 and iss, and wallets that are attested', async () => {
    const metadata = await document('oauth-authorization-server')
    expect(metadata).toMatchObject({
      issuer: ISSUER_URL,
      require_pushed_authorization_requests: true,
      code_challenge_methods_supported: ['S256'],
      authorization_response_iss_parameter_supported: true,
      token_endpoint_auth_methods_supported: ['attest_jwt_client_auth'],
      grant_types_supported: ['authorization_code', 'refresh_token'],
      'pre-authorized_grant_anonymous_access_supported': false,
      scopes_supported: [SCOPE],
      challenge_endpoint: expect.any(String) as string,
      dpop_signing_alg_values_supported: expect.arrayContaining(['ES256']) as string[],
    })
  })

  it('has a nonce endpoint, and a scope for each configuration', async () => {
    const metadata = await document('openid-credential-issuer')
    expect(metadata.nonce_endpoint).toBe(`${ISSUER_URL}/issuance/oid4vci/nonce`)
    const all = Object.values(metadata.credential_configurations_supported as Record<string, { scope?: string }>)
    expect(all.map(({ scope }) => scope)).toEqual([SCOPE])
  })

  it('is signed, where a wallet asks for it, with a certificate that is not a trust anchor', async () => {
    const url = `${ISSUER_URL}/.well-known/openid-credential-issuer`
    const response = await world.services.fetch(url, { headers: { accept: 'application/jwt' } })
    const [header = ''] = (await response.text()).split('.')
    const { x5c } = JSON.parse(Buffer.from(header, 'base64url').toString()) as { x5c: string[] }
    expect(x5c.map((each) => parseCertificate(Buffer.from(each, 'base64')).selfIssued)).toEqual([false])
  })
})

describe('what is declared under HAIP', () => {
  it.each<[string, object, RegExp]>([
    ['without a scope', { ...haipCard, scope: undefined }, /^scope: the profile haip needs one/],
    ['with an empty scope', { ...haipCard, scope: '' }, /scope/],
    ['in a format of W3C', { ...configuration, scope: SCOPE }, /^format: the profile haip has dc\+sd-jwt and mso_mdoc/],
    ['in the older name of a format', { ...configuration, format: 'vc+sd-jwt', scope: SCOPE }, /^format: /],
  ])('is refused %s', async (_, posted, why) => {
    const response = await call(world.services, `${ISSUER_URL}/credential-configuration/create`, posted)
    await expectRefusal(response, { status: 400, error: 'invalid_request', why })
  })

  it('and was declared before, outside the profile, is not offered any more', async () => {
    const issuerStore = await openTestStore<IssuerCollections>(issuerMigrations)
    const before = await startServices({ issuerStore })
    const [old, scoped] = [await declare(before, configuration), await declare(before, haipCard)]
    const under = await startHaip({}, { issuerStore })
    onTestFinished(() => under.services.close())
    const response = await under.services.fetch(`${ISSUER_URL}/.well-known/openid-credential-issuer`)
    const metadata = (await response.json()) as Record<string, object>
    expect(Object.keys(metadata.credential_configurations_supported ?? {})).toEqual([scoped])
    const body = { credential_configurations: [old], credential_dataset: card }
    const refused = await call(under.services, NEW_SESSION, body)
    await expectRefusal(refused, { status: 400, error: 'invalid_request', why: /no credential configuration/ })
  })
})

describe('an offer under HAIP', () => {
  it('has the authorization code alone, also when nothing is said of grants', async () => {
    const { sessionId } = await startIssuance(world.services, {
      credential_configurations: [id],
      credential_dataset: card,
    })
    const offer = await world.services.fetch(`${ISSUER_URL}/issuance/oid4vci/credential-offer/${sessionId}`)
    const { grants } = (await offer.json()) as { grants: object }
    expect(grants).toEqual({ authorization_code: { issuer_state: expect.any(String) as string } })
  })

  it('may be of no session and have no issuer_state: each wallet that answers it gets a session', async () => {
    const grants = { authorization_code: {} }
    const offer = { credential_issuer: ISSUER_URL, credential_configuration_ids: [id], grants }
    const query = new URLSearchParams({ credential_offer: JSON.stringify(offer) }).toString()
    const link = `openid-credential-offer://?${query}`
    const wallets = [await haipWallet(world), await haipWallet(world)]
    for (const { wallet } of wallets) expect(await receiveOffer(wallet, link)).toHaveLength(1)
    expect(new Set(wallets.flatMap(({ sessions }) => sessions())).size).toBe(2)
  })

  it.each<[string, object, RegExp]>([
    ['grants', { grants: [GRANT] }, /^grants: the profile haip has the grant authorization_code alone/],
    ['both grants', { grants: ['authorization_code', GRANT] }, /^grants: /],
    ['tx_code', { tx_code: {} }, /^tx_code: goes with the grant/],
    ['pre-authorized_code', { 'pre-authorized_code': 'x'.repeat(43) }, /^pre-authorized_code: goes with/],
  ])('is refused with %s of the pre-authorized code', async (_, more, why) => {
    const body = { credential_configurations: [id], credential_dataset: card, ...more }
    await expectRefusal(await call(world.services, NEW_SESSION, body), { status: 400, error: 'invalid_request', why })
  })

  it('of an earlier day has no pre-authorized code at the token endpoint', async () => {
    const form = { grant_type: GRANT, 'pre-authorized_code': 'x' }
    const refused = await postForm(world.services, TOKEN_ENDPOINT, form)
    await expectRefusal(refused, { status: 400, error: 'unsupported_grant_type', why: /authorization_code or refresh/ })
  })
})

describe('a wallet under HAIP', () => {
  const attested = async () => {
    const { services, instance } = world
    const { now } = services.clock
    const proved = { now, challenge: await fetchChallenge(services), audience: ISSUER_URL }
    return {
      'oauth-client-attestation': await walletAttestation(instance, now),
      'oauth-client-attestation-pop': await popOf(instance, proved),
    }
  }
  const post = (url: string, form: object, headers: object) =>
    world.services.fetch(url, {
      method: 'POST',
      headers: { 'content-type': 'application/x-www-form-urlencoded', ...headers },
      body: new URLSearchParams({ ...form }).toString(),
    })

  it('cannot bring a request that was not pushed', async () => {
    const response = await visit(world.services, newVisitor(), authorizeUrl(walletAsking().form))
    await expectRefusal(response, { status: 400, error: 'invalid_request', why: /push/ })
  })

  it('has to authenticate itself where it pushes its request', async () => {
    const refused = await postForm(world.services, PAR, walletAsking().form)
    await expectRefusal(refused, { status: 400, error: 'invalid_client' })
  })

  it('pushes under the name in its attestation and no other', async () => {
    const refused = await post(PAR, walletAsking().form, await attested())
    await expectRefusal(refused, { status: 400, error: 'invalid_client_attestation', why: /attestation\.client/ })
  })

  it('signs neither DPoP proofs nor proofs of possession by an algorithm that FAPI 2.0 does not have', async () => {
    const { services, instance } = world
    const key = await holderSigner('ES384')
    const proof = { services, key, url: PAR, nonce: await dpopNonce(services) }
    const { form } = walletAsking({ scope: SCOPE, client_id: WALLET })
    const refused = await post(PAR, form, { ...(await attested()), dpop: await dpopProof(proof) })
    await expectRefusal(refused, {
      status: 400,
      error: 'invalid_dpop_proof',
      why: /alg must be one of ES256, EdDSA, Ed25519/,
    })
    const { now } = services.clock
    const other = { ...instance, key }
    const proved = { now, challenge: await fetchChallenge(services), audience: ISSUER_URL }
    const headers = {
      'oauth-client-attestation': await walletAttestation(other, now),
      'oauth-client-attestation-pop': await popOf(other, proved),
    }
    const why = /^pop\.algorithm: alg must be one of ES256, EdDSA, Ed25519/
    await expectRefusal(await post(PAR, form, headers), { status: 400, error: 'invalid_client_attestation', why })
  })

  it('says in its proof whom it is for by a text, and not by an array', async () => {
    const { form } = walletAsking({ scope: SCOPE, client_id: WALLET })
    const now = world.services.clock.now
    const proved = { now, challenge: await fetchChallenge(world.services), audience: ISSUER_URL }
    const headers = {
      'oauth-client-attestation': await walletAttestation(world.instance, now),
      'oauth-client-attestation-pop': await popOf(world.instance, proved, { payload: { aud: [ISSUER_URL] } }),
    }
    const refused = await post(PAR, form, headers)
    await expectRefusal(refused, { status: 400, error: 'invalid_client_attestation', why: /^pop\.audience: aud/ })
  })

  it.each<[string, RegExp, string]>([
    ['without a DPoP proof', /^dpop$/, 'invalid_dpop_proof'],
    ['without an attestation', /^oauth-client/, 'invalid_client'],
  ])('gets no token %s', async (_, left, error) => {
    const { wallet } = await haipWallet(world)
    const fetch = leavingOut(world.services.fetch, '/token-endpoint', left)
    const refused = await errorOf(receiveWalletInitiated({ ...wallet, fetch }, ask))
    expect(refused.server).toMatchObject({ error })
  })
})

function urlOf(input: Parameters<typeof fetch>[0]): string {
  return input instanceof Request ? input.url : String(input)
}

/** Makes a fetch whose requests to a path lack some headers. */
function leavingOut(fetch: typeof globalThis.fetch, path: string, left: RegExp): typeof globalThis.fetch {
  return (input, init = {}) => {
    if (!urlOf(input).includes(path)) return fetch(input, init)
    const headers = Object.entries(init.headers as Record<string, string>).filter(([name]) => !left.test(name))
    return fetch(input, { ...init, headers: Object.fromEntries(headers) })
  }
}

/** Makes a fetch that lets no request pass which a wallet by HAIP may not send, and no answer that it may not take. */
function haipOnly(fetch: typeof globalThis.fetch): typeof globalThis.fetch {
  return async (input, init = {}) => {
    const url = urlOf(input)
    const headers = new Headers(init.headers)
    const form = new URLSearchParams(init.body instanceof URLSearchParams ? init.body : '')
    if (/\/(par|token-endpoint)$/.test(url)) {
      for (const name of ['oauth-client-attestation', 'oauth-client-attestation-pop', 'dpop']) {
        expect(headers.get(name)).toMatch(/^[\w-]+\.[\w-]+\.[\w-]+$/)
      }
    }
    if (url.endsWith('/par')) {
      // RFC 6749 section 3.3
      expect(form.get('scope')).toMatch(/^[!#-[\]-~]+$/)
      expect([form.get('authorization_details'), form.get('code_challenge_method')]).toEqual([null, 'S256'])
    }
    if (/\/(credential-request|deferred-credential|notification)$/.test(url)) {
      expect(headers.get('authorization')).toMatch(/^DPoP /)
    }
    const response = await fetch(input, init)
    if (url.endsWith('/token-endpoint') && response.ok) {
      expect(await response.clone().json()).toMatchObject({ token_type: 'DPoP' })
    }
    return response
  }
}

describe('a wallet that only knows HAIP', () => {
  const COPIES = 4
  const walks = [
    {
      format: 'dc+sd-jwt',
      declared: { ...haipCard, vct: 'urn:example:pid', scope: 'pid', batch_size: COPIES },
      scope: 'pid',
      dataset: card,
      query: {
        credentials: [
          {
            id: 'pid',
            format: 'dc+sd-jwt',
            meta: { vct_values: ['urn:example:pid'] },
            claims: [{ path: ['given_name'] }],
          },
        ],
      },
    },
    {
      format: 'mso_mdoc',
      declared: { ...mdocConfiguration, scope: 'mdl', batch_size: COPIES },
      scope: 'mdl',
      dataset: mdocDataset,
      query: mdocQuery,
    },
  ]
  let walked: HaipWorld
  beforeAll(async () => {
    walked = await startHaip()
    for (const { declared } of walks) await declare(walked.services, declared)
  })
  afterAll(() => walked.services.close())

  it.each(walks)('receives $format in a batch, presents it, renews it, and has it revoked', async (walk) => {
    const { services } = walked
    const decision = { credential_dataset: walk.dataset, refresh_seconds: 86_400 }
    const made = await haipWallet(walked, { decision })
    const wallet = { ...made.wallet, fetch: haipOnly(made.wallet.fetch) }
    const verify = async () => {
      const { sessionId, link } = await startVerification(services, walk.query)
      await sendPresentation(wallet, await planPresentation(wallet, link)).catch(() => undefined)
      return (await statusOf(services, VERIFIER_URL, sessionId)).status
    }
    const [first] = await receiveWalletInitiated(wallet, { ...ask, credential: { scope: walk.scope } })
    expectBatch(first, walk.format, COPIES)
    expect(await verify()).toBe('VERIFICATION_SUCCEEDED')

    services.clock.now = new Date(services.clock.now.getTime() + 3_600_000)
    expect(first?.chain).toHaveLength(1)
    const tokens = [...made.authorizations.values()]
    const renewed = await renewCredential(wallet, first?.id ?? '')
    expectBatch(renewed, walk.format, COPIES)
    expect([renewed.id === first?.id, made.texts.size]).toEqual([false, 1])
    // FAPI 2.0 Security Profile: a refresh token that is bound to keys stays.
    expect([...made.authorizations.values()]).toEqual(tokens)
    expect(await verify()).toBe('VERIFICATION_SUCCEEDED')

    const [sessionId = ''] = made.sessions()
    expect((await act(services, 'revoke', sessionId))[0]).toBe(200)
    services.clock.now = new Date(services.clock.now.getTime() + 3_600_000)
    expect(await verify()).toBe('VERIFICATION_FAILED')
    expect((await errorOf(renewCredential(wallet, renewed.id))).server).toMatchObject({ error: 'invalid_grant' })
  })

  it('receives both formats for one offer each, by its link', async () => {
    const { services } = walked
    const response = await services.fetch(`${ISSUER_URL}/.well-known/openid-credential-issuer`)
    const { credential_configurations_supported: all } = (await response.json()) as Record<string, object>
    for (const { format, dataset, scope } of walks) {
      const [id = ''] = Object.entries(all ?? {}).find(([, each]) => (each as { scope: string }).scope === scope) ?? []
      const { link } = await startIssuance(services, { credential_configurations: [id], credential_dataset: dataset })
      const { wallet } = await haipWallet(walked, { decision: { approved: true } })
      const [stored] = await receiveOffer({ ...wallet, fetch: haipOnly(wallet.fetch) }, link)
      expectBatch(stored, format, COPIES)
    }
  })
})

function expectBatch(stored: StoredCredential | undefined, format: string, copies: number): void {
  expect(stored).toMatchObject({ format, copies: { all: copies, unseen: copies } })
  if (format !== 'dc+sd-jwt') return
  const { jws } = readSdJwt(stored?.credential ?? '')
  // HAIP 1.0, SD-JWT VC: a key, a status list alone, and a certificate that is not a trust anchor.
  expect(jws.payload).toMatchObject({
    cnf: { jwk: { kty: 'EC' } },
    status: { status_list: { idx: expect.any(Number) as number } },
  })
  const x5c = jws.header.x5c as string[]
  expect(x5c.map((each) => parseCertificate(Buffer.from(each, 'base64')).selfIssued)).toEqual([false])
}
