/**
 * Changing the secrets file of an issuer, or its signing key beside one, by the steps of docs/how-to/change-a-key.md:
 * nothing that is open is voided.
 */
import { createPublicKey, randomBytes } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { encryptJwe } from '../../src/keys/jwe.ts'
import { readPublicJwk } from '../../src/keys/jwk.ts'
import { makeSelfSignedCertificate, toPem } from '../../src/keys/make-certificate.ts'
import { dpopProof } from '../support/dpop.ts'
import {
  CREDENTIAL_ENDPOINT,
  type Ready,
  readySession,
  request,
  requestOf,
  TOKEN_ENDPOINT,
} from '../support/issuance.ts'
import { restartedIssuer } from '../support/restarted-issuer.ts'
import { API_KEY, ISSUER_URL, makeKey, pemOf, type Services, startServices } from '../support/services.ts'
import { call, codeOf, dataset, declare, GRANT, holderSigner, postForm, startIssuance } from '../support/wire.ts'

const SECRETS = { issuer: { secretsFile: 'secrets' } }
const [first, second] = [randomBytes(32).toString('base64'), randomBytes(32).toString('base64url')]

let services: Services
let configurationId: string
const closing: (() => Promise<void>)[] = []

beforeAll(async () => {
  services = await startServices({ ...SECRETS, files: { secrets: first } })
  configurationId = await declare(services)
})
afterAll(async () => {
  for (const close of closing) await close()
  await services.close()
})

async function restarted(secrets: string, files: Readonly<Record<string, string>> = {}): Promise<Services> {
  const after = await restartedIssuer(services, { ...SECRETS, files: { ...files, secrets } })
  closing.push(() => after.issuer.close())
  return after
}

/** Makes something of an issuer, and gives the way to use that once at an issuer that was restarted. */
type Made = (before: Services) => Promise<(after: Services) => Promise<Response>>

const started = (before: Services, more: object = {}) =>
  startIssuance(before, { credential_configurations: [configurationId], ...more })

const redeemed = async (before: Services): Promise<Ready & { readonly refresh: string }> => {
  const { sessionId } = await started(before, { refresh_seconds: 3600 })
  const form = { grant_type: GRANT, 'pre-authorized_code': await codeOf(before, sessionId) }
  const answer = await postForm(before, `${TOKEN_ENDPOINT}/${sessionId}`, form)
  const body = (await answer.json()) as { access_token: string; refresh_token: string }
  const nonce = (await (
    await before.fetch(`${ISSUER_URL}/issuance/oid4vci/nonce/${sessionId}`, { method: 'POST' })
  ).json()) as { c_nonce: string }
  return {
    services: before,
    configurationId,
    sessionId,
    code: '',
    form,
    holder: await holderSigner(),
    token: body.access_token,
    nonce: nonce.c_nonce,
    audience: `${ISSUER_URL}/${sessionId}`,
    refresh: body.refresh_token,
  }
}

const refresh = (at: Services, { sessionId, refresh: token }: { sessionId: string; refresh: string }) =>
  postForm(at, `${TOKEN_ENDPOINT}/${sessionId}`, { grant_type: 'refresh_token', refresh_token: token })

/** The values that are made under a secret, each used once. */
const made: readonly (readonly [string, Made])[] = [
  [
    'a pre-authorized code',
    async (before) => {
      const { sessionId } = await started(before)
      const form = { grant_type: GRANT, 'pre-authorized_code': await codeOf(before, sessionId) }
      return (after) => postForm(after, `${TOKEN_ENDPOINT}/${sessionId}`, form)
    },
  ],
  [
    'a code that the application supplied, in its offer',
    async (before) => {
      const { sessionId } = await started(before, { 'pre-authorized_code': randomBytes(16).toString('hex') })
      return (after) => after.fetch(`${ISSUER_URL}/issuance/oid4vci/credential-offer/${sessionId}`)
    },
  ],
  [
    'a transaction code',
    async (before) => {
      const { sessionId } = await started(before, { tx_code: { value: '493536' } })
      return async (after) => {
        // The offer is fetched anew, so that the code in it is of the newest version of the secrets.
        const form = { grant_type: GRANT, 'pre-authorized_code': await codeOf(after, sessionId), tx_code: '493536' }
        return postForm(after, `${TOKEN_ENDPOINT}/${sessionId}`, form)
      }
    },
  ],
  [
    'a c_nonce',
    async (before) => {
      const ready = await readySession(before, { credential_configurations: [configurationId] })
      return (after) => request({ ...ready, services: after })
    },
  ],
  [
    'a nonce for DPoP',
    async (before) => {
      const [{ sessionId }, key] = [await started(before), await holderSigner()]
      const nonces = await before.fetch(`${ISSUER_URL}/issuance/oid4vci/nonce`, { method: 'POST' })
      const url = `${TOKEN_ENDPOINT}/${sessionId}`
      const proof = { services: before, key, url, nonce: nonces.headers.get('dpop-nonce') ?? '' }
      const dpop = await dpopProof(proof)
      return async (after) =>
        after.fetch(url, {
          method: 'POST',
          headers: { 'content-type': 'application/x-www-form-urlencoded', dpop },
          body: new URLSearchParams({
            grant_type: GRANT,
            'pre-authorized_code': await codeOf(after, sessionId),
          }).toString(),
        })
    },
  ],
  [
    'a notification id',
    async (before) => {
      const ready = await readySession(before, { credential_configurations: [configurationId] })
      const { notification_id: id } = (await (await request(ready)).json()) as { notification_id: string }
      return (after) =>
        after.fetch(`${ISSUER_URL}/issuance/oid4vci/notification`, {
          method: 'POST',
          headers: { authorization: `Bearer ${ready.token}`, 'content-type': 'application/json' },
          body: JSON.stringify({ notification_id: id, event: 'credential_accepted' }),
        })
    },
  ],
  [
    'the key that a request is encrypted to',
    async (before) => {
      const ready = await readySession(before, { credential_configurations: [configurationId] })
      const metadata = (await (await before.fetch(`${ISSUER_URL}/.well-known/openid-credential-issuer`)).json()) as {
        credential_request_encryption: { jwks: { keys: { kid: string }[] } }
      }
      const [key] = metadata.credential_request_encryption.jwks.keys
      // A nonce of the newest version, so that only the key is of an older one.
      return async (after) => {
        const nonces = await after.fetch(`${ISSUER_URL}/issuance/oid4vci/nonce`, { method: 'POST' })
        const { c_nonce: nonce } = (await nonces.json()) as { c_nonce: string }
        const payload = JSON.stringify(await requestOf({ ...ready, nonce }))
        const to = { jwk: readPublicJwk(key), kid: key?.kid, alg: 'ECDH-ES', enc: 'A128GCM' } as const
        return after.fetch(CREDENTIAL_ENDPOINT, {
          method: 'POST',
          headers: { authorization: `Bearer ${ready.token}`, 'content-type': 'application/jwt' },
          body: await encryptJwe(payload, to),
        })
      }
    },
  ],
]

/** The values that hold without any secret, and so whatever becomes of the file. */
const kept: readonly (readonly [string, Made])[] = [
  [
    'an access token',
    async (before) => {
      const ready = await redeemed(before)
      return async (after) => {
        const nonces = await after.fetch(`${ISSUER_URL}/issuance/oid4vci/nonce`, { method: 'POST' })
        return request({ ...ready, services: after, nonce: ((await nonces.json()) as { c_nonce: string }).c_nonce })
      }
    },
  ],
  [
    'a refresh token',
    async (before) => {
      const ready = await redeemed(before)
      return (after) => refresh(after, ready)
    },
  ],
]

const isGood = ({ status }: Response): boolean => status === 200 || status === 204

describe.each([...made, ...kept])('%s', (_, make) => {
  it('is good after the secret has changed, while the old one stands below the new one', async () => {
    const use = await make(services)
    const response = await use(await restarted(`# from today\n${second}\n\n# before\n${first}\n`))
    expect(`${response.status} ${await response.clone().text()}`).toMatch(/^20[04] /)
  })

  it('is good after the signing key has changed', async () => {
    const key = await makeKey()
    const certificate = toPem(
      makeSelfSignedCertificate({
        privateKey: key,
        publicKey: createPublicKey(key),
        commonName: 'new',
        uris: [ISSUER_URL],
        notBefore: new Date(Date.now() - 86_400_000),
        notAfter: new Date(Date.now() + 86_400_000),
        serial: randomBytes(16),
      }),
    )
    const use = await make(services)
    const after = await restarted(first, { 'issuer.key': pemOf(key), 'issuer.pem': certificate })
    expect(isGood(await use(after))).toBe(true)
  })
})

describe.each(made)('%s', (_, make) => {
  it('is good no more when its secret is gone', async () => {
    const use = await make(services)
    expect(isGood(await use(await restarted(second)))).toBe(false)
  })
})

it('secrets move from the signing key to a file while offers are open', async () => {
  const before = await restartedIssuer(services, {})
  closing.push(() => before.issuer.close())
  for (const [, make] of made) {
    const use = await make(before)
    expect(isGood(await use(await restarted(`${first}\nsigning-key\n`)))).toBe(true)
  }
})

it('a refresh token whose answer was lost gets the same successor over a change of the secret', async () => {
  const ready = await redeemed(services)
  const { refresh_token: successor } = (await (await refresh(services, ready)).json()) as { refresh_token: string }
  const after = await restarted(`${second}\n${first}`)
  const again = (await (await refresh(after, ready)).json()) as { refresh_token: string }
  expect(again.refresh_token).toBe(successor)
  expect(isGood(await refresh(after, { ...ready, refresh: successor }))).toBe(true)
})

it('a code that was supplied under the older secret cannot be supplied again', async () => {
  const code = randomBytes(16).toString('hex')
  const body = {
    credential_configurations: [configurationId],
    credential_dataset: dataset,
    'pre-authorized_code': code,
  }
  const url = `${ISSUER_URL}/issuance/oid4vci/new-session`
  expect((await call(services, url, body)).status).toBe(200)
  expect((await call(await restarted(`${second}\n${first}`), url, body)).status).toBe(409)
})

it('the transaction code of a remembered answer is told again', async () => {
  const body = { credential_configurations: [configurationId], credential_dataset: dataset, tx_code: {} }
  const key = randomBytes(8).toString('hex')
  const post = async (at: Services) => {
    const response = await at.fetch(`${ISSUER_URL}/issuance/oid4vci/new-session`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${API_KEY}`,
        'content-type': 'application/json',
        'idempotency-key': key,
      },
      body: JSON.stringify(body),
    })
    return (await response.json()) as { readonly tx_code?: string }
  }
  const { tx_code: code } = await post(services)
  expect(code).toMatch(/^\d{6}$/)
  expect((await post(await restarted(`${second}\n${first}`))).tx_code).toBe(code)
  expect((await post(await restarted(second))).tx_code).toBe(undefined)
})
