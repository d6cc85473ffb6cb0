/**
 * Every attack of the tables beside this file: a good presentation with one thing wrong, signed again with the right
 * keys, and posted to the service. One check fails, what depends on it is not run, and everything else passes.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { digestOf } from '../../src/codec/digest.ts'
import { formatOf } from '../../src/credential/formats.ts'
import { VCDM_2_CONTEXT } from '../../src/credential/w3c/members.ts'
import { parseCertificate } from '../../src/keys/certificate.ts'
import { toDidJwk } from '../../src/keys/did.ts'
import { allChecks, evidenceChecks, readingChecks, responseChecks } from '../../src/verifier/checks/index.ts'
import type { VerificationReport } from '../../src/verifier/verification.ts'
import { verifyVpResponse } from '../../src/verifier/verification.ts'
import { silentLog } from '../support/check-log.ts'
import {
  conceal,
  concealMember,
  disclosure,
  type Forgery,
  inProfile,
  makeForgery,
  putTogether,
  startWorld,
  subjectOf,
  type World,
} from '../support/forge.ts'
import { type Profile, profiles, queryFor, usualProfile } from '../support/profiles.ts'
import { ISSUER_URL, VERIFIER_URL } from '../support/services.ts'
import {
  bindingTo,
  dcqlQuery,
  keyProof,
  postForm,
  redeem,
  startIssuance,
  startVerification,
  statusOf,
} from '../support/wire.ts'
import { type Attack, expectedOutcomes, expectRefusal, noStatus, outcomesOf, type SentPresentation } from './attack.ts'
import {
  credentialAttacks,
  disclosedClaimAttacks,
  sdJwtVcAttacks,
  w3cCredentialAttacks,
  w3cJwtAttacks,
  w3cSdJwtAttacks,
} from './verifier-credential.ts'
import { disclosureAttacks, sdJwtVcDisclosureAttacks, w3cDisclosureAttacks } from './verifier-disclosures.ts'
import { holderAttacks, keyBindingAttacks, vpAttacks } from './verifier-holder.ts'
import { issuerAttacks, w3cIssuerAttacks } from './verifier-issuer.ts'
import { mdocAttacks } from './verifier-mdoc.ts'
import { responseAttacks, sdJwtPartAttacks, vpPartAttacks } from './verifier-response.ts'
import { transactionAttacks } from './verifier-transaction.ts'

type Tables = Readonly<Record<string, readonly Attack[]>>

const onEveryFormat: Tables = {
  'the issuer': issuerAttacks,
  'the holder': holderAttacks,
  'the credential': credentialAttacks,
  'the response': responseAttacks,
}
const onSdJwts: Tables = {
  'the key binding': keyBindingAttacks,
  'the disclosures': disclosureAttacks,
  'what is disclosed': disclosedClaimAttacks,
  'the parts': sdJwtPartAttacks,
  'a transaction': transactionAttacks,
}
const onW3c: Tables = { 'the issuer of the W3C': w3cIssuerAttacks, 'the credential of the W3C': w3cCredentialAttacks }
const onW3cSdJwts: Tables = {
  ...onSdJwts,
  ...onW3c,
  'the W3C credential as SD-JWT': [...w3cSdJwtAttacks, ...w3cDisclosureAttacks],
}
const onFormats: Readonly<Record<string, Tables>> = {
  'jwt_vc_json-ld': onW3cSdJwts,
  'vc+sd-jwt': onW3cSdJwts,
  'dc+sd-jwt': { ...onSdJwts, 'the SD-JWT VC': [...sdJwtVcAttacks, ...sdJwtVcDisclosureAttacks] },
  jwt_vc_json: {
    ...onW3c,
    'the credential as JWT': w3cJwtAttacks,
    'the VP-JWT': [...vpAttacks, ...vpPartAttacks],
  },
}
const tablesOf = ({ format }: Profile): Tables => ({ ...onEveryFormat, ...onFormats[format] })
const attacks: readonly Attack[] = [...new Set(profiles.flatMap((profile) => Object.values(tablesOf(profile)).flat()))]

/** Refused by the endpoint before anything is verified, and therefore shown without it at the end. */
const beforeVerification = 'presentation.session'

describe('attacks on the verification service', () => {
  let usual: World
  beforeAll(async () => {
    usual = await startWorld()
  })
  afterAll(() => usual.services.close())

  describe.each(profiles)('with a credential of the format $format', (profile) => {
    let world: World
    beforeAll(async () => {
      world = await inProfile(usual, profile)
    })

    for (const [subject, rows] of Object.entries(tablesOf(profile))) {
      describe(`on ${subject}`, () => {
        it.each(rows)('$attack ($fails)', async (row) => expectRefusal(await send(world, row), profile, row))
      })
    }

    it('nothing is wrong with a presentation in which nothing was changed', async () => {
      const { status, body, report } = await send(world, {})
      expect([status, body]).toEqual([200, {}])
      expect(report).toMatchObject({ status: 'VERIFICATION_SUCCEEDED', result: { verified: true } })
      expect(outcomesOf((report.result as VerificationReport).credentials.card?.[0])).toEqual(
        expectedOutcomes([...readingChecks, ...evidenceChecks], profile),
      )
    })

    describe('a JWT of another kind as the presentation', () => {
      it.each(Object.entries(others))('is not accepted: %s, as it is or with a tilde', async (_, make) => {
        const text = await make(usual)
        expect(text.split('.')).toHaveLength(3)
        const unbound = () => ({ meta: {}, claims: undefined, require_cryptographic_holder_binding: false })
        for (const query of [() => ({}), unbound]) {
          for (const presentation of [text, `${text}~`]) {
            const { status, report } = await send(world, { query, vpToken: () => ({ card: [presentation] }) })
            expect([status, report.status]).toEqual([400, 'VERIFICATION_FAILED'])
            const readable = (presentation === text) !== profile.sdJwt
            expect(outcomesOf((report.result as VerificationReport).credentials.card?.[0])).toMatchObject({
              'presentation.well_formed': readable ? 'passed' : 'failed',
              'query.format': readable ? 'failed' : 'not_run',
              'issuer.trusted': expect.stringMatching(/^(failed|not_run)$/) as string,
            })
          }
        }
      })
    })
  })

  it('a certificate is parsed once for all the checks of its presentation', async () => {
    const { request } = await startVerification(usual.services)
    const text = await putTogether(await makeForgery(usual, request))
    const parsed: string[] = []
    const context = {
      ...strangerContext(usual),
      parseCertificate: (der: Uint8Array) => {
        parsed.push(Buffer.from(der).toString('base64'))
        return parseCertificate(der)
      },
      state: request.state,
      binding: bindingTo(request.nonce, request.client_id, usual.services.clock.now),
    }
    await verifyVpResponse({ vpToken: new Map([['card', [text]]]), state: request.state }, context, silentLog)
    expect(parsed.length).toBeGreaterThan(0)
    expect(parsed).toEqual([...new Set(parsed)])
  })

  it('a response to another request has the wrong state (presentation.session)', async () => {
    const { request } = await startVerification(usual.services)
    const text = await putTogether(await makeForgery(usual, request))
    const { checks } = await verifyVpResponse(
      { vpToken: new Map([['card', [text]]]), state: 'the state of another session' },
      {
        ...strangerContext(usual),
        state: request.state,
        binding: bindingTo(request.nonce, request.client_id, usual.services.clock.now),
      },
      silentLog,
    )
    expect(outcomesOf({ checks })).toEqual(
      expectedOutcomes(responseChecks, usualProfile, { fails: beforeVerification }),
    )
  })

  describe('a credential that is right although it is not the usual one', () => {
    const world = async (format: string) => {
      const profile = profiles.find((each) => each.format === format)
      if (profile === undefined) throw new Error(format)
      return inProfile(usual, profile)
    }
    const rows: readonly (readonly [string, string, Partial<Attack>])[] = [
      ['an SD-JWT VC without iss', 'dc+sd-jwt', change(({ payload }) => void Reflect.deleteProperty(payload, 'iss'))],
      [
        'an SD-JWT VC that its issuer knows by another name',
        'dc+sd-jwt',
        change(
          ({ payload }) => void Object.assign(payload, { vct: 'urn:new', aka_vcts: ['urn:example:student-card'] }),
        ),
      ],
      [
        'an SD-JWT VC of which iat and sub are disclosed selectively',
        'dc+sd-jwt',
        change((forgery) => {
          concealMember(forgery, forgery.payload, 'iat')
          conceal(forgery, forgery.payload, disclosure('sub', 'user-1'))
        }),
      ],
      [
        'an SD-JWT VC that is asked for its members',
        'dc+sd-jwt',
        {
          query: () => ({
            claims: [
              { path: ['vct'], values: ['urn:example:student-card'] },
              { path: ['iss'] },
              { path: ['cnf', 'jwk', 'kty'] },
            ],
          }),
        },
      ],
      [
        'a W3C credential whose context is a text',
        'vc+sd-jwt',
        change(({ payload }) => void Object.assign(payload, { '@context': VCDM_2_CONTEXT })),
      ],
      [
        'a W3C credential whose holder withholds every claim of the subject',
        'vc+sd-jwt',
        {
          ...change((forgery) => {
            forgery.disclosures = []
          }),
          query: () => ({ claims: undefined }),
        },
      ],
      [
        'a W3C credential whose holder withholds the subject',
        'vc+sd-jwt',
        {
          ...change((forgery) => {
            concealMember(forgery, forgery.payload, 'credentialSubject')
            forgery.disclosures = []
          }),
          query: () => ({ claims: [{ path: ['issuer'] }] }),
        },
      ],
      [
        'a W3C credential of two subjects, of which the holder shows one',
        'vc+sd-jwt',
        {
          ...change((forgery) => {
            const [one, other] = [disclosure({ given_name: 'Ada' }), disclosure({ given_name: 'Byron' })]
            forgery.payload.credentialSubject = [one, other].map((text) => ({ '...': digestOf(text) }))
            forgery.disclosures = [one]
          }),
          query: () => ({ claims: [{ path: ['credentialSubject', 0, 'given_name'] }] }),
        },
      ],
      [
        'a VC in a JWT of the data model 2.0, whose issuer is in iss alone',
        'jwt_vc_json',
        change(({ payload }) => {
          Object.assign(payload.vc as object, { '@context': [VCDM_2_CONTEXT] })
          Reflect.deleteProperty(payload.vc as object, 'issuer')
        }),
      ],
      [
        'a VP-JWT that does not say when it was made',
        'jwt_vc_json',
        binding(({ payload }) => void Reflect.deleteProperty(payload, 'iat')),
      ],
      ['a VP-JWT without a type', 'jwt_vc_json', binding(({ header }) => void Reflect.deleteProperty(header, 'typ'))],
      [
        'a VC in a JWT without a type',
        'jwt_vc_json',
        change(({ header }) => void Reflect.deleteProperty(header, 'typ')),
      ],
      [
        'a VC in a JWT that is bound to its subject',
        'jwt_vc_json',
        change((forgery, { holder }) => {
          Reflect.deleteProperty(forgery.payload, 'cnf')
          subjectOf(forgery).id = toDidJwk(holder.jwk)
        }),
      ],
      [
        'a VC in a JWT by itself, where nobody asked for the holder',
        'jwt_vc_json',
        {
          ...change((forgery) => {
            forgery.binding = undefined
          }),
          query: () => ({ require_cryptographic_holder_binding: false }),
        },
      ],
    ]
    it.each(rows)('%s', async (_, format, row) => {
      const { report } = await send(await world(format), row)
      expect(report).toMatchObject({ status: 'VERIFICATION_SUCCEEDED', result: { verified: true } })
    })

    it('and without iss its certificate alone names the issuer', async () => {
      const nameless = change(({ payload }) => void Reflect.deleteProperty(payload, 'iss'))
      const { report } = await send(await world('dc+sd-jwt'), nameless)
      const [shown] = (report.result as VerificationReport).credentials.card ?? []
      expect(shown).toHaveProperty('issuer_certificate.subject', 'CN=issuer.localhost')
      expect(shown).not.toHaveProperty('issuer')
    })

    it('and a report leaves out what is about the securing', async () => {
      const { report } = await send(await world('dc+sd-jwt'), {
        ...change((forgery) => conceal(forgery, forgery.payload, disclosure('sub', 'user-1'))),
      })
      expect((report.result as VerificationReport).credentials.card?.[0]).toMatchObject({
        issuer_certificate: { subject: 'CN=issuer.localhost' },
        type: ['urn:example:student-card'],
        claims: { given_name: 'Ada', family_name: 'Lovelace', degrees: ['BSc', 'MSc'], sub: 'user-1' },
      })
      expect(Object.keys((report.result as VerificationReport).credentials.card?.[0]?.claims ?? {})).toHaveLength(4)
    })
  })

  it('there is an attack on every check, and a check for every attack', () => {
    const ids = allChecks.map(({ id }) => id)
    expect(new Set(ids).size).toBe(ids.length)
    const shown = new Set([...attacks, ...mdocAttacks].map(({ fails }) => fails)).add(beforeVerification)
    expect([...shown].sort()).toEqual([...ids].sort())
    expect(attacks.flatMap(({ notRun = [] }) => notRun).filter((id) => !ids.some((known) => known === id))).toEqual([])
  })

  it.each([
    ...profiles.map((profile) => [profile.format, Object.values(tablesOf(profile)).flat()] as const),
    ['mso_mdoc', mdocAttacks] as const,
  ])('of %s there is an attack on every check that is asked of it', (format, rows) => {
    const { notApplicableReasons = {}, transactionProblem } = formatOf(format) ?? {}
    const asked = allChecks
      .map(({ id }) => id)
      .filter((id) => !Object.hasOwn(notApplicableReasons, id))
      .filter((id) => id !== 'holder.transaction_data' || transactionProblem === undefined)
    const shown = new Set(rows.map(({ fails }) => fails)).add(beforeVerification)
    expect([...shown].sort()).toEqual(asked.sort())
  })

  it('every attack has a sentence of its own', () => {
    const sentences = attacks.map(({ attack }) => attack)
    expect(sentences.filter((sentence, at) => sentences.indexOf(sentence) !== at)).toEqual([])
  })
})

const others = {
  'an access token': async ({ services }: World) => redeem(services, (await startIssuance(services)).sessionId),
  'a key proof': async ({ services, holder }: World) =>
    keyProof({ holder, nonce: 'n', audience: ISSUER_URL }, services.clock.now),
  'a request object': async ({ services }: World) => {
    const { sessionId } = await startVerification(services)
    return (await services.fetch(`${VERIFIER_URL}/presentation/oid4vp/authorization-request/${sessionId}`)).text()
  },
  'a key binding': async (world: World) => {
    const { request } = await startVerification(world.services)
    return (await putTogether(await makeForgery(world, request))).split('~').at(-1) ?? ''
  },
}

function change(made: NonNullable<Attack['change']>): Partial<Attack> {
  return { change: made }
}

/** Changes what the holder signed. */
function binding(made: (binding: NonNullable<Forgery['binding']>) => void): Partial<Attack> {
  return change((forgery) => {
    if (forgery.binding) made(forgery.binding)
  })
}

/** Starts a session, presents what the row makes of a good presentation, and asks for the status. */
async function send(world: World, row: Partial<Attack>): Promise<SentPresentation> {
  const { services } = world
  const { profile } = world
  const query = { credentials: [{ ...queryFor(profile), ...row.query?.(profile) }], ...row.dcql?.(profile) }
  const more = row.transactions ? { transaction_data: row.transactions } : {}
  const { sessionId, request } = await startVerification(services, query, more)
  const forgery = await makeForgery(world, request)
  await row.change?.(forgery, world)
  const presentation = await putTogether(forgery)
  const vpToken = row.vpToken?.(presentation) ?? { card: [presentation] }
  const form = { vp_token: JSON.stringify(vpToken), state: request.state }
  const response = await postForm(services, request.response_uri, form)
  const report = await statusOf(services, VERIFIER_URL, sessionId)
  return { status: response.status, body: await response.json(), report }
}

/** Makes the policy of a verifier, for calling it without the service. */
function strangerContext({ services }: World) {
  return {
    query: dcqlQuery,
    transactions: [],
    sessionStart: services.clock.now,
    now: services.clock.now,
    clockSkewSeconds: 60,
    trustAnchors: undefined,
    loadTrustLists: () => Promise.resolve([]),
    issuerIdentifier: undefined,
    acceptTlsServerCertificates: false,
    parseCertificate: () => {
      throw new Error('not asked')
    },
    status: noStatus,
  }
}
