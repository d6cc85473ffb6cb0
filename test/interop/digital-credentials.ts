/**
 * The npm packages `@openid4vc/*` in the place of browser and wallet: they read the request of a page, at its origin,
 * and answer it. OpenID4VP 1.0, appendix A.
 */
import assert from 'node:assert/strict'
import type { JsonObject } from '../../src/codec/json.ts'
import { ORIGIN, SIGNED } from '../support/digital-credentials.ts'
import { makeHolder, type WalletRequest } from './holder.ts'
import { encryption, FINAL, formats, presentationClient, presentByFormat, receive } from './openid4vc.ts'
import { answerPages, BY_BROWSER } from './pages.ts'
import type { Row } from './rows.ts'
import { offerOf } from './samples.ts'

type Client = ReturnType<typeof presentationClient>

/** Makes the data of the response. `present` makes the presentation for the parameters of the request. */
async function respond(
  client: Client,
  request: JsonObject,
  present: (request: WalletRequest) => Promise<string>,
): Promise<object> {
  const resolved = await client.resolveOpenId4vpAuthorizationRequest({
    authorizationRequestPayload: request,
    origin: ORIGIN,
  })
  const { authorizationRequestPayload } = resolved
  // The packages name the audience of unsigned requests alone; wallets made with them (Credo) do this themselves.
  const presentation = await present({ ...authorizationRequestPayload, client_id: `origin:${ORIGIN}` })
  const { jarm } = await client.createOpenid4vpAuthorizationResponse({
    authorizationRequestPayload,
    origin: ORIGIN,
    authorizationResponsePayload: { vp_token: { card: [presentation] } },
    ...encryption(authorizationRequestPayload),
  })
  return { response: jarm?.responseJwt }
}

/** Expects that the packages refuse the signed request at another origin than the one that it names. */
async function assertRefusedElsewhere(client: Client, request: JsonObject): Promise<void> {
  const elsewhere = { authorizationRequestPayload: request, origin: 'https://evil.example' }
  await assert.rejects(client.resolveOpenId4vpAuthorizationRequest(elsewhere), /origin/)
}

/** Every format, received as usual and presented through the browser. */
export const digitalCredentialsRows: readonly Row[] = Object.entries(formats).map(([format, holding]) => ({
  packages: ['@openid4vc/openid4vci', '@openid4vc/openid4vp', ...holding],
  role: 'wallet',
  specification: BY_BROWSER,
  format,
  run: async (services, step) => {
    const holder = await makeHolder()
    const credential = await receive(services, await offerOf(services, format), holder, FINAL, step)
    const client = presentationClient(services, holder.signer)
    await answerPages(services, format, step, async (request, protocol) => {
      if (protocol === SIGNED) await step('another origin', () => assertRefusedElsewhere(client, request))
      return step('response', () =>
        respond(client, request, (parameters) => presentByFormat(format, credential, holder, parameters)),
      )
    })
  },
}))
