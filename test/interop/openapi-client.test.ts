/**
 * The OpenAPI documents, as a generator of clients reads them: its types compile, and the README's first calls go
 * through them.
 */
import { execFileSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import openapiTS, { astToString } from 'openapi-typescript'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { planPresentation, sendPresentation } from '../../src/wallet/present.ts'
import { receiveOffer } from '../../src/wallet/receive.ts'
import { temporaryDirectory } from '../support/command.ts'
import { API_KEY, ISSUER_URL, type Services, startServices, VERIFIER_URL } from '../support/services.ts'
import { testWallet } from '../support/wallet.ts'

const ROOT = join(import.meta.dirname, '..', '..')

/** Returns the bodies of the README's calls, in their order. */
function readmeBodies(): string[] {
  const readme = readFileSync(join(ROOT, 'README.md'), 'utf8').split('## By hand')[1] ?? ''
  return [...readme.matchAll(/-d '(\{[\s\S]*?\})'(?:\)|\n)/g)].map(([, body = '']) => body)
}

/** Writes a client in TypeScript: each body of the README is a literal of the type that its operation takes. */
function clientOf([configuration = '', session = '', query = '', verification = '']: readonly string[]): string {
  // Where the shell puts an id in.
  const withId = (body: string): string => body.replace(/"'"\$\w+"'"/, 'id')
  return `
import type { operations as IssuerOperations } from './issuer.ts'
import type { operations as VerifierOperations } from './verifier.ts'

type Operations = IssuerOperations & VerifierOperations
type Body<Name extends keyof Operations> =
  Operations[Name] extends { requestBody: { content: { 'application/json': infer B } } } ? B : never
type Answer<Name extends keyof Operations, Status extends number, Type extends string = 'application/json'> =
  Operations[Name] extends { responses: { [S in Status]: { content: { [T in Type]: infer A } } } } ? A : never
export type Call = (service: 'issuer' | 'verifier', path: string, body?: object) => Promise<unknown>

export async function issue(call: Call): Promise<string> {
  const configuration: Body<'createCredentialConfiguration'> = ${configuration}
  const id = (await call('issuer', '/credential-configuration/create', configuration)) as
    Answer<'createCredentialConfiguration', 201, 'text/plain'>
  const session: Body<'createIssuanceSession'> = ${withId(session)}
  const started = (await call('issuer', '/issuance/oid4vci/new-session', session)) as Answer<'createIssuanceSession', 200>
  return started.credential_offer_uri
}

export async function ask(call: Call): Promise<{ readonly sessionId: string; readonly requestUri: string }> {
  const query: Body<'createVerificationQuery'> = ${query}
  const id = (await call('verifier', '/verification-query/create', query)) as
    Answer<'createVerificationQuery', 201, 'text/plain'>
  const session: Body<'createVerificationSession'> = ${withId(verification)}
  // A session that only the browser answers has no link.
  const { session_id: sessionId, request_uri: requestUri = '' } =
    (await call('verifier', '/presentation/oid4vp/new-session', session)) as Answer<'createVerificationSession', 200>
  return { sessionId, requestUri }
}

export async function report(call: Call, sessionId: string): Promise<{ status: string; name: unknown; refused: string }> {
  const status = (await call('verifier', '/presentation/oid4vp/status/' + sessionId)) as Answer<'getVerificationSession', 200>
  const claims = status.result?.credentials['card']?.[0]?.claims
  const missing = (await call('verifier', '/presentation/oid4vp/status/none')) as Answer<'getVerificationSession', 404>
  // The codes are known by name.
  const refused: 'not_found' = missing.error as Extract<typeof missing.error, 'not_found'>
  return { status: status.status, name: claims?.['given_name'], refused }
}

/** More bodies that once were objects without members. */
export const examples: [
  Body<'createVerificationSession'>,
  Body<'verifyStaticPresentation'>,
  Body<'requestCredential'>,
  Body<'simulateVerificationQuery'>,
] = [
  { verification_query_id: 'a', transaction_data: [{ type: 'payment', credential_ids: ['card'], amount: 5 }] },
  { verification_query_id: 'a', vp_token: { card: ['a', { type: ['VerifiablePresentation'] }] } },
  { credential_configuration_id: 'a', proofs: { jwt: ['a'] }, credential_response_encryption: { jwk: { kty: 'EC' }, enc: 'A' } },
  { dcql_query: { credentials: [{ id: 'a', format: 'dc+sd-jwt', meta: { vct_values: ['b'] } }] }, credentials: [{ format: 'dc+sd-jwt', claims: { a: 1 } }] },
]
`
}

interface Client {
  issue(call: Call): Promise<string>
  ask(call: Call): Promise<{ readonly sessionId: string; readonly requestUri: string }>
  report(call: Call, sessionId: string): Promise<unknown>
}
type Call = (service: 'issuer' | 'verifier', path: string, body?: object) => Promise<unknown>

/** Compiles as an application would, with every strictness. Throws what the compiler says. */
function compile(directory: string): void {
  const options = ['--strict', '--noUncheckedIndexedAccess', '--exactOptionalPropertyTypes', '--lib', 'es2023']
  const modules = [
    '--module',
    'nodenext',
    '--target',
    'es2023',
    '--allowImportingTsExtensions',
    '--rewriteRelativeImportExtensions',
  ]
  const tsc = join(ROOT, 'node_modules/typescript/bin/tsc')
  try {
    execFileSync(process.execPath, [tsc, ...options, ...modules, '--outDir', 'out', 'client.ts'], { cwd: directory })
  } catch (error) {
    throw new Error(String((error as { stdout?: Buffer }).stdout))
  }
}

describe('types that openapi-typescript makes of the documents', () => {
  let services: Services
  beforeAll(async () => {
    services = await startServices()
  })
  afterAll(() => services.close())

  const call: Call = async (service, path, body) => {
    const url = `${service === 'issuer' ? ISSUER_URL : VERIFIER_URL}${path}`
    const headers = { authorization: `Bearer ${API_KEY}`, 'content-type': 'application/json' }
    const response = await services.fetch(url, {
      method: body === undefined ? 'GET' : 'POST',
      headers,
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
    const text = await response.text()
    return response.headers.get('content-type')?.includes('json') ? (JSON.parse(text) as unknown) : text
  }

  /** Compiles the client's program with the types of both documents. Throws what the compiler says. */
  async function compiled(bodies: readonly string[]): Promise<string> {
    const directory = temporaryDirectory()
    writeFileSync(join(directory, 'package.json'), '{"type":"module"}')
    for (const service of ['issuer', 'verifier'] as const) {
      const document = (await services[service].inject('/openapi')).body
      writeFileSync(join(directory, `${service}.ts`), astToString(await openapiTS(document)))
    }
    writeFileSync(join(directory, 'client.ts'), clientOf(bodies))
    compile(directory)
    return pathToFileURL(join(directory, 'out', 'client.js')).href
  }

  it('compile, and carry the README through issuing and verifying', async () => {
    const bodies = readmeBodies()
    expect(bodies).toHaveLength(4)
    const client = (await import(await compiled(bodies))) as Client

    const { wallet } = testWallet(services.fetch, services.clock)
    await receiveOffer(wallet, await client.issue(call))
    const { sessionId, requestUri } = await client.ask(call)
    await sendPresentation(wallet, await planPresentation(wallet, requestUri))
    expect(await client.report(call, sessionId)).toEqual({
      status: 'VERIFICATION_SUCCEEDED',
      name: 'Ada',
      refused: 'not_found',
    })
  })

  it('refuse a misspelt member when they are compiled', async () => {
    const bodies = readmeBodies().map((body) => body.replace('"claims": [{"path"', '"claim": [{"path"'))
    await expect(compiled(bodies)).rejects.toThrow(/'"?claim"?' does not exist in type/)
  })
})
