/** Pages that ask the browser for a credential, for every party that plays browser and wallet. */
import assert from 'node:assert/strict'
import type { JsonObject } from '../../src/codec/json.ts'
import { fetchPageRequest, postCredential, SIGNED, startPageSession, UNSIGNED } from '../support/digital-credentials.ts'
import type { Services } from '../support/services.ts'
import type { Step } from './rows.ts'
import { assertVerified, sampleOf } from './samples.ts'

/** The specification of the rows whose credentials are presented through the browser. */
export const BY_BROWSER = 'OpenID4VCI 1.0, OpenID4VP 1.0 (Digital Credentials API)'

/**
 * Starts a session for each kind of request, and fails unless the verifier accepts the data that `answer` makes for the
 * data of the request.
 */
export async function answerPages(
  services: Services,
  format: string,
  step: Step,
  answer: (request: JsonObject, protocol: string) => Promise<unknown>,
): Promise<void> {
  for (const protocol of [SIGNED, UNSIGNED]) {
    const page = await startPageSession(services, sampleOf(format).query)
    const { body } = await fetchPageRequest(services, page)
    const request = body.digital.requests.find((each) => each.protocol === protocol)
    const data = await answer(request?.data ?? assert.fail(`no request ${protocol}`), protocol)
    await step('verification', async () => {
      const response = await postCredential(services, page, { protocol, data })
      assert.deepEqual([response.status, await response.json()], [200, {}])
      await assertVerified(services, format, page.session_id)
    })
  }
}
