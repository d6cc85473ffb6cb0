/**
 * An independent wallet against both services: the npm packages `@openid4vc/openid4vci` and `@openid4vc/openid4vp` read
 * our offers, metadata and request objects by their own schemas, and send what they make of them.
 */
import { generateKeyPair } from 'node:crypto'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { JsonObject } from '../../src/codec/json.ts'
import { readJws, writeJws } from '../../src/codec/jws.ts'
import { formatOf } from '../../src/credential/formats.ts'
import { createSigner } from '../../src/keys/file-signer.ts'
import type { Signer } from '../../src/keys/signer.ts'
import { ISSUER_URL, type Services, startServices, VERIFIER_URL } from '../support/services.ts'
import {
  configuration,
  dataset,
  declare,
  holderSigner,
  presentationOf,
  startIssuance,
  startVerification,
  statusOf,
} from '../support/wire.ts'
import { FINAL, issuanceClient, present, presentationClient, receive } from './openid4vc.ts'

describe('an independent wallet', () => {
  let services: Services
  let holder: Signer
  beforeAll(async () => {
    services = await startServices()
    holder = await holderSigner()
  })
  afterAll(() => services.close())

  /** Runs the whole issuance with the key proof in either place, and returns the credential. */
  async function receiveWith(proof: 'proof' | 'proofs', key: 'jwk' | 'did'): Promise<string> {
    const id = await declare(services, configuration)
    const { link } = await startIssuance(services, { credential_configurations: [id] })
    return receive(services, { link, id }, { signer: holder }, { ...FINAL, proof, key })
  }

  it.each([
    ['proofs', 'jwk'],
    ['proofs', 'did'],
    ['proof', 'jwk'],
    ['proof', 'did'],
  ] as const)('receives a credential with %s and a key proof by %s', async (form, by) => {
    const credential = await receiveWith(form, by)
    expect(formatOf('jwt_vc_json-ld')?.readHeld(credential).claims.credentialSubject).toEqual(dataset.credentialSubject)
  })

  it('binds its token by DPoP, with the nonce that it is told when it has none', async () => {
    const asked: [string, number, string][] = []
    const watched: Services = {
      ...services,
      fetch: async (input, init) => {
        const response = await services.fetch(input, init)
        const { headers, url } = input instanceof Request ? input : new Request(input, init)
        if (headers.has('dpop')) {
          asked.push([
            new URL(url).pathname.split('/')[1] ?? '',
            response.status,
            headers.get('authorization')?.split(' ')[0] ?? '',
          ])
        }
        return response
      },
    }
    const id = await declare(services, configuration)
    const { link, sessionId } = await startIssuance(services, { credential_configurations: [id] })
    await receive(watched, { link, id }, { signer: holder }, { ...FINAL, dpop: true })
    expect(asked).toEqual([
      ['auth', 400, ''],
      ['auth', 200, ''],
      ['issuance', 200, 'DPoP'],
    ])
    expect(await statusOf(services, ISSUER_URL, sessionId)).toMatchObject({ status: 'SUCCEEDED' })
  })

  it.each([
    ['ec', { namedCurve: 'P-384' }],
    ['ec', { namedCurve: 'P-521' }],
    ['ed25519', undefined],
  ] as const)('receives with a key of type %s, %j, and presents with it', async (type, options) => {
    const { privateKey } = await promisify(generateKeyPair)(type as 'ec', options as { readonly namedCurve: string })
    const signer = createSigner(privateKey, [])
    const id = await declare(services, configuration)
    const { link } = await startIssuance(services, { credential_configurations: [id] })
    const credential = await receive(services, { link, id }, { signer })
    const { sessionId, link: request } = await startVerification(services)
    await present(services, request, { signer }, (asked) => presentationOf(credential, signer, asked, services.clock))
    expect(await statusOf(services, VERIFIER_URL, sessionId)).toMatchObject({ status: 'VERIFICATION_SUCCEEDED' })
  })

  it('reads our metadata as that of the final specification, with nothing of ours left out', async () => {
    const id = await declare(services, configuration)
    const { sessionId } = await startIssuance(services, { credential_configurations: [id] })
    for (const issuer of [ISSUER_URL, `${ISSUER_URL}/${sessionId}`]) {
      const { credentialIssuer, originalDraftVersion, authorizationServers } = await issuanceClient(
        services,
        holder,
      ).resolveIssuerMetadata(issuer)
      expect(originalDraftVersion).toBe('V1')
      expect(credentialIssuer.credential_issuer).toBe(issuer)
      expect(authorizationServers[0]?.issuer).toBe(issuer)
      const known = credentialIssuer.credential_configurations_supported as Record<string, JsonObject>
      expect(known[id]).toMatchObject({ ...configuration, proof_types_supported: { jwt: {} } })
    }
  })

  it('reads our request as a signed one of the final specification', async () => {
    const { link } = await startVerification(services)
    const client = presentationClient(services, holder)
    const { type, params } = client.parseOpenid4vpAuthorizationRequest({ authorizationRequest: link })
    expect(type).toBe('jar')
    expect(await client.resolveOpenId4vpAuthorizationRequest({ authorizationRequestPayload: params })).toMatchObject({
      version: 100,
      client: { prefix: 'x509_hash' },
    })
  })

  it('presents what it received, and our verification service accepts it', async () => {
    const credential = await receiveWith('proofs', 'jwk')
    const { sessionId, link } = await startVerification(services)
    const response = await present(services, link, { signer: holder }, (asked) =>
      presentationOf(credential, holder, asked, services.clock),
    )
    expect([response.status, await response.json()]).toEqual([200, {}])
    expect(await statusOf(services, VERIFIER_URL, sessionId)).toMatchObject({ status: 'VERIFICATION_SUCCEEDED' })
  })

  it('declines, in its own words', async () => {
    const { sessionId, link } = await startVerification(services)
    const client = presentationClient(services, holder)
    const { params } = client.parseOpenid4vpAuthorizationRequest({ authorizationRequest: link })
    const { authorizationRequestPayload } = await client.resolveOpenId4vpAuthorizationRequest({
      authorizationRequestPayload: params,
    })
    const { response } = await client.submitOpenid4vpAuthorizationResponse({
      authorizationRequestPayload,
      authorizationResponsePayload: { error: 'access_denied', state: authorizationRequestPayload.state },
    })
    expect(response.status).toBe(200)
    expect(await statusOf(services, VERIFIER_URL, sessionId)).toMatchObject({ status: 'DECLINED' })
  })

  it('does not take a request object that somebody else signed', async () => {
    const { link } = await startVerification(services)
    const client = presentationClient(services, holder, async (url, init) => {
      const { header, payload } = readJws(await (await services.fetch(url, init)).text())
      return new Response(await writeJws(header, payload, (data) => holder.sign(data)), {
        headers: { 'content-type': 'application/oauth-authz-req+jwt' },
      })
    })
    const { params } = client.parseOpenid4vpAuthorizationRequest({ authorizationRequest: link })
    await expect(client.resolveOpenId4vpAuthorizationRequest({ authorizationRequestPayload: params })).rejects.toThrow()
  })
})
