/** The npm package `@sphereon/oid4vci-client`, a wallet of draft 13, and the rows it takes. */
import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { writeJws } from '../../src/codec/jws.ts'
import { formatOf } from '../../src/credential/formats.ts'
import { toDidJwk } from '../../src/keys/did.ts'
import { ISSUER_URL, type Services } from '../support/services.ts'
import { configuration } from '../support/wire.ts'
import { makeHolder } from './holder.ts'
import type { Row, Step } from './rows.ts'
import { offerOf, sampleOf, startWithAuthority } from './samples.ts'

interface Client {
  retrieveServerMetadata(): Promise<object>
  acquireAccessToken(): Promise<object>
  acquireCredentials(options: object): Promise<{ readonly credential?: string }>
}

interface Package {
  readonly OpenID4VCIClient: { fromURI(options: object): Promise<Client> }
}

// The package is named at run time, because it is installed for these tests only, and its types take seconds to check.
const packageName = '@sphereon/oid4vci-client'
const { OpenID4VCIClient } = (await import(packageName)) as Package

interface Jwt {
  readonly header: Record<string, string>
  readonly payload: Record<string, string | number>
}

/**
 * Runs the issuance over loopback, because the package brings its own HTTP client. The package does not repeat why it
 * was refused, so the last refusal is told here.
 */
async function overHttp(issuer: object, format: string, step: Step): Promise<void> {
  let refusal = ''
  const server = createServer((request, response) => {
    void (async () => {
      const { method = '', url = '', headers } = request
      const body = method === 'GET' ? null : await text(request)
      const init = { method, headers: headers as Record<string, string>, body }
      const answer = await services.fetch(`${ISSUER_URL}${url}`, init)
      const answered = await answer.text()
      if (!answer.ok) refusal = answered
      response.writeHead(answer.status, Object.fromEntries(answer.headers)).end(answered)
    })()
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const services = await startWithAuthority({ issuer: { ...issuer, baseUrl } })
  try {
    await receive(services, format, step)
  } catch (error) {
    throw new Error(refusal, { cause: error })
  } finally {
    server.closeAllConnections()
    server.close()
    await services.close()
  }
}

async function receive(services: Services, format: string, step: Step): Promise<void> {
  const { signer } = await makeHolder()
  const { link } = await offerOf(services, format)
  const client = await step('offer', () => OpenID4VCIClient.fromURI({ uri: link, retrieveServerMetadata: false }))
  await step('metadata', () => client.retrieveServerMetadata())
  await step('token', () => client.acquireAccessToken())
  const { credential } = await step('credential', () =>
    client.acquireCredentials({
      ...requestFor(format),
      alg: signer.alg,
      kid: `${toDidJwk(signer.jwk)}#0`,
      proofCallbacks: {
        signCallback: ({ header, payload }: Jwt) => writeJws(header, payload, (data) => signer.sign(data)),
      },
    }),
  )
  await step('reading', () => {
    const { claims } = (formatOf(format) ?? assert.fail('no format')).readHeld(
      credential ?? assert.fail('no credential'),
    )
    for (const [name, value] of Object.entries(sampleOf(format).dataset)) assert.deepEqual(claims[name], value)
  })
}

/** Makes a request of draft 13, which names the format and the type; SD-JWT VC was `vc+sd-jwt` then. */
function requestFor(format: string): object {
  const { vct } = sampleOf(format).configuration
  if (vct !== undefined) return { format: 'vc+sd-jwt', credentialTypes: vct }
  const { type, '@context': context } = configuration.credential_definition
  return { format, credentialTypes: type, ...(format === 'jwt_vc_json-ld' ? { context } : {}) }
}

const row = {
  packages: ['@sphereon/oid4vci-client'],
  role: 'wallet (receives only)',
} as const

function admittedRow(format: string, fails?: Row['fails']): Row {
  const specification = 'OpenID4VCI draft 13 (`compatibility`)'
  const run: Row['run'] = (_, step) => overHttp({ compatibility: ['draft13'] }, format, step)
  return { ...row, format, specification, ...(fails && { fails }), run }
}

/** The rows with and without the setting that lets wallets of draft 13 in. */
export const sphereonRows: readonly Row[] = [
  admittedRow('jwt_vc_json-ld'),
  admittedRow('jwt_vc_json'),
  admittedRow('dc+sd-jwt'),
  admittedRow('mso_mdoc', {
    at: 'credential',
    error: /Invalid format: mso_mdoc/,
    because: 'the package cannot ask for this format',
  }),
  {
    ...row,
    format: 'jwt_vc_json-ld',
    specification: 'OpenID4VCI draft 13',
    fails: {
      at: 'credential',
      error: /draft 13.*compatibility/,
      because: 'we refuse draft 13 unless `compatibility` names it, and say so',
    },
    run: (_, step) => overHttp({}, 'jwt_vc_json-ld', step),
  },
]
