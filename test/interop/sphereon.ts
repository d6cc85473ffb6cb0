/** The npm package `@sphereon/oid4vci-client`, a wallet of draft 13, and the rows it takes. */
import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { writeJws } from '../../src/codec/jws.ts'
import { formatOf } from '../../src/credential/formats.ts'
import { toDidJwk } from '../../src/keys/jwk.ts'
import type { Services } from '../support/services.ts'
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

// Named at run time, because the package is installed for these tests only, and its types take seconds to check.
const packageName = '@sphereon/oid4vci-client'
const { OpenID4VCIClient } = (await import(packageName)) as Package

interface Jwt {
  readonly header: Record<string, string>
  readonly payload: Record<string, string | number>
}

/** The package brings its own HTTP client, so the issuance service listens, on the loopback interface. */
async function overHttp(issuer: object, format: string, step: Step): Promise<void> {
  const server = createServer((request, response) => services.issuer.routing(request, response))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const services = await startWithAuthority({ issuer: { ...issuer, baseUrl } })
  try {
    await services.issuer.ready()
    await receive(services, format, step)
  } finally {
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
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
    const { claims } = (formatOf(format) ?? assert.fail('no format')).hold(credential ?? assert.fail('no credential'))
    for (const [name, value] of Object.entries(sampleOf(format).dataset)) assert.deepEqual(claims[name], value)
  })
}

/** A request of draft 13 names the format and the type; SD-JWT VC was `vc+sd-jwt` then. */
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

/** With and without the setting that lets such wallets in. */
export const sphereonRows: readonly Row[] = ['jwt_vc_json-ld', 'jwt_vc_json', 'dc+sd-jwt', 'mso_mdoc'].flatMap(
  (format) => [
    {
      ...row,
      format,
      specification: 'OpenID4VCI draft 13 (`compatibility`)',
      run: (_, step) => overHttp({ compatibility: ['draft13'] }, format, step),
    },
    {
      ...row,
      format,
      specification: 'OpenID4VCI draft 13',
      run: (_, step) => overHttp({}, format, step),
    },
  ],
)
