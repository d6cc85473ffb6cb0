/**
 * Attacks by whoever runs a web server: its certificate, below an anchor of a public authority, signs a credential or a
 * status list.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { EXTENDED_KEY_USAGE } from '../../src/keys/certificate-purpose.ts'
import type { VerificationReport } from '../../src/verifier/verification.ts'
import { base64, entries, makeNetwork, signList, tokenParts } from '../support/foreign-status.ts'
import { certify, makeForgery, putTogether, startWorld, type World } from '../support/forge.ts'
import { queryFor } from '../support/profiles.ts'
import { makeKey, VERIFIER_URL } from '../support/services.ts'
import { call, postForm, startVerification, statusOf } from '../support/wire.ts'

const OF_TLS_SERVER = { purposes: [EXTENDED_KEY_USAGE.tlsServer], isCritical: false }
const URI = 'https://issuer.example/status-list/1'
const network = makeNetwork()

describe.each([
  [undefined, 'failed'],
  [false, 'failed'],
  [true, 'passed'],
] as const)(
  'with acceptTlsServerCertificates %s, a certificate of a web server below an anchor',
  (setting, outcome) => {
    let world: World
    beforeAll(async () => {
      const verifier = setting === undefined ? {} : { acceptTlsServerCertificates: setting }
      world = await startWorld({ outbound: network.outbound, verifier })
    })
    afterAll(() => world.services.close())

    it(`signs credentials: issuer.trusted is ${outcome}`, async () => {
      const { report, again } = await presented(OF_TLS_SERVER)
      expect([outcomeOf(report, 'issuer.trusted'), report.verified]).toEqual([outcome, setting === true])
      // The same where the application holds the presentation already.
      expect(outcomeOf(again, 'issuer.trusted')).toBe(outcome)
    })

    it(`signs status lists: status.valid is ${outcome}`, async () => {
      const parts = tokenParts(world, URI, entries(7, 0))
      parts.key = await makeKey()
      parts.header.x5c = base64([certify(world.ca, parts.key, OF_TLS_SERVER)])
      network.at.set(URI, await signList(parts))
      const { report } = await presented({}, { status: { status_list: { idx: 7, uri: URI } } })
      expect([outcomeOf(report, 'issuer.trusted'), outcomeOf(report, 'status.valid')]).toEqual(['passed', outcome])
    })

    async function presented(certificate: Parameters<typeof certify>[2], claims: object = {}) {
      const { services, ca, issuerKey, profile } = world
      const query = { credentials: [queryFor(profile)] }
      const { sessionId, request } = await startVerification(services, query)
      const forgery = await makeForgery(world, request)
      forgery.header.x5c = base64([certify(ca, issuerKey, certificate)])
      Reflect.deleteProperty(forgery.payload, 'status')
      Object.assign(forgery.payload, claims)
      const vp_token = { card: [await putTogether(forgery)] }
      await postForm(services, request.response_uri, { vp_token: JSON.stringify(vp_token), state: request.state })
      const { result } = (await statusOf(services, VERIFIER_URL, sessionId)) as unknown as {
        result: VerificationReport
      }
      const url = `${VERIFIER_URL}/presentation/oid4vp/static-presentation`
      const again = (await (await call(services, url, { dcql_query: query, vp_token })).json()) as VerificationReport
      return { report: result, again }
    }
  },
)

function outcomeOf({ credentials }: VerificationReport, check: string): string | undefined {
  return credentials.card?.[0]?.checks.find(({ id }) => id === check)?.outcome
}
