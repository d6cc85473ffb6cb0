/** The front of the demo: what a tunnel lets in from the internet. */
import { createServer, request as httpRequest } from 'node:http'
import { text } from 'node:stream/consumers'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { listenInTest } from '../../../test/support/local-server.ts'
import { ISSUER_URL, type Services, startServices, VERIFIER_URL } from '../../../test/support/services.ts'
import type { JsonObject } from '../../codec/json.ts'
import { createFront } from './front.ts'

describe('the front of the demo', () => {
  let services: Services
  beforeAll(async () => {
    services = await startServices()
  })
  afterAll(() => services.close())

  /** Starts a front before two services that tell what they were asked. */
  async function started() {
    const openapi = async (url: string) => (await services.fetch(`${url}/openapi`)).json() as Promise<JsonObject>
    const echo = (name: string) =>
      createServer((request, response) => {
        void text(request).then((body) => response.end(`${name} ${request.method} ${request.url} ${body}`))
      })
    const [issuer, verifier] = [await listenInTest(echo('issuer')), await listenInTest(echo('verifier'))]
    const port = await listenInTest(
      createFront([
        { port: issuer, openapi: await openapi(ISSUER_URL) },
        { port: verifier, openapi: await openapi(VERIFIER_URL) },
      ]),
    )
    return (method: string, path: string, body?: string): Promise<string> =>
      new Promise((resolve, reject) => {
        httpRequest({ host: '127.0.0.1', port, method, path }, (response) => {
          text(response).then(
            (said) => resolve(response.statusCode === 200 ? said : String(response.statusCode)),
            reject,
          )
        })
          .on('error', reject)
          .end(body)
      })
  }

  it.each([
    ['issuer', 'GET', '/.well-known/openid-credential-issuer/abc'],
    ['issuer', 'GET', '/abc/.well-known/oauth-authorization-server'],
    ['issuer', 'GET', '/issuance/oid4vci/credential-offer/abc'],
    ['issuer', 'POST', '/issuance/oid4vci/nonce/abc'],
    ['issuer', 'POST', '/issuance/oid4vci/credential-request'],
    ['issuer', 'OPTIONS', '/issuance/oid4vci/credential-request'],
    ['issuer', 'POST', '/auth/token-endpoint/abc'],
    ['issuer', 'GET', '/status-list/abc?time=1'],
    ['verifier', 'GET', '/presentation/oid4vp/authorization-request/abc'],
    ['verifier', 'POST', '/presentation/oid4vp/authorization-response/abc'],
    ['verifier', 'POST', '/presentation/oid4vp/encrypted-authorization-response/abc'],
  ])('brings a wallet to the %s: %s %s', async (name, method, path) => {
    const ask = await started()
    expect(await ask(method, path, method === 'POST' ? 'a=b' : undefined)).toBe(
      `${name} ${method} ${path} ${method === 'POST' ? 'a=b' : ''}`,
    )
  })

  it.each([
    ['POST', '/issuance/oid4vci/new-session'],
    ['GET', '/issuance/oid4vci/status/abc'],
    ['GET', '/issuance/oid4vci/sessions'],
    ['GET', '/issuance/oid4vci/events/abc'],
    ['POST', '/credential-configuration/create'],
    ['POST', '/credential-status/revoke/abc'],
    ['POST', '/presentation/oid4vp/new-session'],
    ['GET', '/presentation/oid4vp/status/abc'],
    ['POST', '/verification-query/create'],
    ['GET', '/status-list/..%2fissuance%2foid4vci%2fsessions'],
    ['GET', '/status-list/../issuance/oid4vci/sessions'],
    ['GET', '//issuance/oid4vci/sessions'],
    ['GET', 'http://127.0.0.1/issuance/oid4vci/sessions'],
    ['GET', '/nothing'],
    ['DELETE', '/status-list/abc'],
  ])('lets nobody call what takes an API key: %s %s', async (method, path) => {
    const ask = await started()
    expect(await ask(method, path)).toBe('404')
  })
})
