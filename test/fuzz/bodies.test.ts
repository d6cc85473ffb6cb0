/** Tests that any body of a request is answered as the endpoint answers: never a crash, never a 500. */
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Json, JsonObject } from '../../src/codec/json.ts'
import { startCodeFlow } from '../support/code-flow.ts'
import { encryptedRequest } from '../support/encryption.ts'
import { CREDENTIAL_ENDPOINT, type Ready, readySession, requestOf } from '../support/issuance.ts'
import { seeds, TIMES } from '../support/seeds.ts'
import { ISSUER_URL, type Services, VERIFIER_URL } from '../support/services.ts'
import { authorization, startIssuance, startVerification } from '../support/wire.ts'
import { mutateJson, seededRandom } from './mutate.ts'

let services: Services
beforeAll(async () => {
  services = await startCodeFlow()
})
afterAll(() => services.close())

const types = ['application/json', 'application/x-www-form-urlencoded', 'application/jwt', 'text/plain', undefined]
const names = fc.constantFrom(
  ...['dcql_query', 'credentials', 'format', 'proof', 'proofs', 'vp_token', 'response', 'grant_type', '__proto__'],
)
const members = fc.dictionary(names, fc.jsonValue({ maxDepth: 3 }), { noNullPrototype: true })
const bodies = fc.oneof(
  fc.string({ unit: 'binary' }),
  fc.json({ maxDepth: 4 }),
  members.map((value) => JSON.stringify(value)),
  members.map(formOf),
)

function formOf(value: object): string {
  const fields = Object.entries(value).map(([name, each]): [string, string] => [name, JSON.stringify(each)])
  return new URLSearchParams(fields).toString()
}

async function expectAnswer(response: Response): Promise<void> {
  const text = await response.text()
  expect([response.status < 500, text]).toEqual([true, text])
  if (response.status >= 400) expect(text).toMatch(/^\{"error":"[a-z_]+","error_description":"[ !#-[\]-~]+"\}$/)
}

describe.each([
  ['issuer', ISSUER_URL, async () => (await startIssuance(services)).sessionId],
  ['verifier', VERIFIER_URL, async () => (await startVerification(services)).sessionId],
] as const)('the endpoints of the %s', (_, baseUrl, session) => {
  it('take any body, whatever it is called', async () => {
    const document = (await (await services.fetch(`${baseUrl}/openapi`)).json()) as { paths: Record<string, object> }
    const paths = Object.entries(document.paths).flatMap(([path, methods]) => ('post' in methods ? [path] : []))
    expect(paths.length).toBeGreaterThan(6)
    for (const path of paths) {
      const id = await session()
      const url = baseUrl + path.replace(/\{[^}]+\}/, id)
      const property = fc.asyncProperty(bodies, fc.constantFrom(...types), async (body, type) => {
        const headers = { ...authorization, ...(type && { 'content-type': type }) }
        await expectAnswer(await services.fetch(url, { method: 'POST', headers, body }))
      })
      await fc.assert(property, { seed: 20_260_601, numRuns: 15 * TIMES })
    }
  }, 600_000)
})

describe('an encrypted credential request', () => {
  let ready: Ready
  let metadata: JsonObject
  beforeAll(async () => {
    ready = await readySession(services)
    const url = `${ISSUER_URL}/.well-known/openid-credential-issuer/${ready.sessionId}`
    metadata = (await (await services.fetch(url)).json()) as JsonObject
  })
  const post = (body: string) =>
    services.fetch(CREDENTIAL_ENDPOINT, {
      method: 'POST',
      headers: { authorization: `Bearer ${ready.token}`, 'content-type': 'application/jwt' },
      body,
    })

  it('can have anything inside', async () => {
    const property = fc.asyncProperty(bodies, fc.constantFrom('DEF', undefined), async (body, zip) => {
      await expectAnswer(await post(await encryptedRequest(metadata, body, { enc: 'A128GCM', ...(zip && { zip }) })))
    })
    await fc.assert(property, { seed: 20_260_601, numRuns: 50 * TIMES })
  })

  it('can have any part that is another one', async () => {
    const jwk = {
      kty: 'EC',
      crv: 'P-256',
      x: 'YO4epjifD-KWeq1sL2tNmm36BhXnkJ0He-WqMYrp9Fk',
      y: 'Hekpm0zfK7C-YccH5iBjcIXgf6YdUvNUac_0At55Okk',
    }
    const encryption = { jwk: { ...jwk, alg: 'ECDH-ES', kid: 'ac' }, enc: 'A128GCM' }
    const right = (await requestOf(ready, { credential_response_encryption: encryption })) as JsonObject
    for (const seed of seeds(75)) {
      const other: Json = mutateJson(seededRandom(seed), right)
      await expectAnswer(await post(await encryptedRequest(metadata, JSON.stringify(other), { enc: 'A256GCM' })))
    }
  })
})
