/**
 * Every attack of the tables on mobile documents: a good DeviceResponse with one thing wrong, signed again with the
 * right keys, and posted to the service. One check fails, what depends on it is not run, and everything else passes.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { CBOR_TAG, embedCbor, encodeCbor, makeTagged } from '../../src/codec/cbor.ts'
import { digestItem } from '../../src/credential/mso-mdoc/elements.ts'
import { evidenceChecks, readingChecks } from '../../src/verifier/checks/index.ts'
import type { VerificationReport } from '../../src/verifier/verification.ts'
import { encryptedResponse } from '../support/encryption.ts'
import type { World } from '../support/forge.ts'
import {
  bindingOf,
  MDL,
  type MdocForgery,
  makeMdocForgery,
  mdocProfile,
  mdocQuery,
  membersOf,
  NAMESPACE,
  OTHER_NAMESPACE,
  putMdocTogether,
  startMdocWorld,
} from '../support/mdoc.ts'
import { VERIFIER_URL } from '../support/services.ts'
import { postForm, type RequestObject, startVerification, statusOf } from '../support/wire.ts'
import { type Attack, expectedOutcomes, expectRefusal, outcomesOf, type SentPresentation } from './attack.ts'
import { mdocAttacks, mdocTables } from './verifier-mdoc.ts'
import { states } from './verifier-mdoc-holder.ts'

describe('attacks on the verification service with mobile documents', () => {
  let world: World
  beforeAll(async () => {
    world = await startMdocWorld()
  })
  afterAll(() => world.services.close())

  for (const [subject, rows] of Object.entries(mdocTables)) {
    describe(`on ${subject}`, () => {
      it.each(rows)('$attack ($fails)', async (row) => expectRefusal(await send(world, row), mdocProfile, row))
    })
  }

  it('nothing is wrong with a mobile document in which nothing was changed', async () => {
    const report = await expectAccepted({})
    expect(report).toMatchObject({
      format: 'mso_mdoc',
      type: [MDL],
      claims: {
        [NAMESPACE]: {
          family_name: 'Lovelace',
          birth_date: '1815-12-10',
          age_over_18: true,
          portrait: '_9j_4AAQSkZJRg',
          driving_privileges: [{ vehicle_category_code: 'B', issue_date: '2020-01-31', codes: [{ code: '01' }] }],
        },
        [OTHER_NAMESPACE]: { height: 1.67, note: 'countess' },
      },
      holder_key_thumbprint: world.holder.kid,
    })
    expect(report).toHaveProperty('issuer_certificate.subject', 'CN=issuer.localhost')
    expect(report).not.toHaveProperty('issuer')
  })

  const allowed: Readonly<Record<string, NonNullable<Attack<MdocForgery>['change']>>> = {
    'with the tag of a COSE_Sign1': (forgery) => {
      forgery.seal = (issuerAuth) => makeTagged(CBOR_TAG.sign1, issuerAuth)
    },
    'with errors about other documents and elements': (forgery) => {
      forgery.finish = (document, response) => {
        document.set('errors', new Map([[NAMESPACE, new Map([['weight', 0]])]]))
        response.set('documentErrors', [new Map([['org.example.other', 0]])])
      }
    },
    'without what was not asked for': ({ nameSpaces }) => void nameSpaces.delete(OTHER_NAMESPACE),
    'with digests by SHA-512': (forgery) => {
      const digests = [...forgery.nameSpaces].map(([name, items]) => {
        const entries = items.map((item, index) => [index, item] as const)
        return [name, entries] as const
      })
      forgery.mso.set('digestAlgorithm', 'SHA-512')
      const old = membersOf(forgery.mso.get('valueDigests'))
      for (const [name, items] of digests) {
        const byId = membersOf(old.get(name))
        for (const [, item] of items) {
          const sha256 = digestItem(item).toString('hex')
          const id = [...byId].find(([, digest]) => Buffer.from(digest as Uint8Array).toString('hex') === sha256)?.[0]
          byId.set(id ?? -1, digestItem(item, 'sha512'))
        }
        old.set(name, byId)
      }
      forgery.mso.set('valueDigests', old)
    },
    'whose device states elements that the issuer authorized by namespace':
      states(new Map([[NAMESPACE, new Map([['stated', true]])]]), new Map([['nameSpaces', [NAMESPACE]]])).change ??
      (() => undefined),
    'whose device states elements that the issuer authorized one by one':
      states(
        new Map([[NAMESPACE, new Map([['stated', true]])]]),
        new Map([['dataElements', new Map([[NAMESPACE, ['stated']]])]]),
      ).change ?? (() => undefined),
    'with times that have fractions and an offset': ({ mso }) => {
      const info = membersOf(mso.get('validityInfo'))
      mso.set('validityInfo', info.set('validUntil', makeTagged(CBOR_TAG.dateTime, '2999-01-01T00:00:00.5+02:00')))
    },
  }
  it.each(Object.entries(allowed))('nothing is wrong with one %s', async (_, change) => {
    const report = await expectAccepted({ change })
    expect(JSON.stringify(report.claims)).not.toContain('stated')
  })

  it('is not a DeviceResponse: what an issuer issues, a document alone, a JWT', async () => {
    const others = [
      world.credential,
      Buffer.from(encodeCbor(embedCbor(new Map()))).toString('base64url'),
      'eyJhbGciOiJFUzI1NiJ9.e30.AA~',
    ]
    for (const text of others) {
      const { status, report } = await send(world, { vpToken: () => ({ licence: [text] }) })
      expect([status, report.status]).toEqual([400, 'VERIFICATION_FAILED'])
      expect(outcomesOf((report.result as VerificationReport).credentials.licence?.[0])).toMatchObject({
        'presentation.well_formed': 'failed',
      })
    }
  })

  it('every attack has a sentence of its own', () => {
    const sentences = mdocAttacks.map(({ attack }) => attack)
    expect(sentences.filter((sentence, at) => sentences.indexOf(sentence) !== at)).toEqual([])
  })

  async function expectAccepted(row: Partial<Attack<MdocForgery>>) {
    const { status, body, report } = await send(world, row)
    const credential = (report.result as VerificationReport).credentials.licence?.[0]
    expect(outcomesOf(credential)).toEqual(expectedOutcomes([...readingChecks, ...evidenceChecks], mdocProfile))
    expect([status, body]).toEqual([200, {}])
    expect(report).toMatchObject({ status: 'VERIFICATION_SUCCEEDED', result: { verified: true } })
    return { ...credential }
  }
})

/** Starts a session, presents what the row makes of a good presentation, and asks for the status. */
async function send(world: World, row: Partial<Attack<MdocForgery>>): Promise<SentPresentation> {
  const { services } = world
  const [usual] = mdocQuery.credentials
  const { sessionId, request } = await startVerification(services, {
    credentials: [{ ...usual, ...row.query?.(mdocProfile) }],
  })
  const forgery = await makeMdocForgery(world, bindingOf(request, services.clock.now))
  await row.change?.(forgery, world)
  const presentation = await putMdocTogether(forgery)
  const response = await respond(world, request, row.vpToken?.(presentation) ?? { licence: [presentation] })
  const report = await statusOf(services, VERIFIER_URL, sessionId)
  return { status: response.status, body: await response.json(), report }
}

async function respond({ services }: World, request: RequestObject, vpToken: unknown): Promise<Response> {
  const response = await encryptedResponse(request, { vp_token: vpToken, state: request.state })
  return postForm(services, request.response_uri, { response })
}
