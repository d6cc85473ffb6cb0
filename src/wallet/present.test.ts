import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Services, startServices, VERIFIER_URL } from '../../test/support/services.ts'
import { changing, errorOf, type TestWallet, testWallet } from '../../test/support/wallet.ts'
import { configuration, dataset, declare, startIssuance, startVerification, statusOf } from '../../test/support/wire.ts'
import type { Json, JsonObject } from '../codec/json.ts'
import { readSdJwt } from '../codec/sd-jwt.ts'
import { pathText } from '../protocol/claim-path-text.ts'
import { decline, planPresentation, sendPresentation } from './present.ts'
import { receiveOffer } from './receive.ts'

const RESPONSE = '/authorization-response/'

const subject = {
  given_name: 'Ada',
  family_name: 'Lovelace',
  address: { city: 'London', street: 'St James’s Square' },
  degrees: ['BSc', 'MSc', 'PhD'],
  clubs: [],
  courses: [
    { name: 'Logic', grade: 1 },
    { name: 'Poetry', grade: 2 },
  ],
}

type Path = (string | number | null)[]
const claim = (...path: Path) => ({ path: ['credentialSubject', ...path] })
const asking = (claims: object[], more: object = {}) => ({
  credentials: [{ id: 'card', format: 'jwt_vc_json-ld', meta: {}, claims, ...more }],
})

describe('presenting', () => {
  let services: Services
  beforeAll(async () => {
    services = await startServices()
  })
  afterAll(() => services.close())

  async function receiveInto({ wallet }: TestWallet, changes: object = {}, data: Json = subject): Promise<string> {
    const id = await declare(services, { ...configuration, ...changes })
    const { link } = await startIssuance(services, {
      credential_configurations: [id],
      credential_dataset: { credentialSubject: data },
    })
    const [stored] = await receiveOffer(wallet, link)
    return stored?.id ?? ''
  }

  async function holding(changes: object = {}): Promise<TestWallet> {
    const made = testWallet(services.fetch, services.clock)
    await receiveInto(made, changes)
    return made
  }

  /** Runs the whole way; returns what the plan promised, and what the verifier found. */
  async function presented(made: TestWallet, query: object) {
    const { sessionId, link } = await startVerification(services, query)
    const plan = await planPresentation(made.wallet, link)
    expect(plan.problem).toBeUndefined()
    await sendPresentation(made.wallet, plan)
    const status = await statusOf(services, VERIFIER_URL, sessionId)
    expect(status).toMatchObject({ status: 'VERIFICATION_SUCCEEDED', result: { verified: true } })
    const { credentials } = status.result as { credentials: { card: { claims: JsonObject }[] } }
    const [answer] = plan.matches
    if (answer === undefined || !('credential' in answer)) throw new Error('no answer')
    const of = (because: string) => answer.disclosed.filter((each) => each.because === because)
    return {
      seen: credentials.card[0]?.claims.credentialSubject,
      asked: of('asked').map(({ value }) => value),
      inseparable: of('inseparable').map(({ value }) => value),
      hidden: answer.hidden.map((place) => pathText(place.slice(1))),
      sent: made.sent.find(({ to }) => to.includes(RESPONSE) && to.includes(sessionId))?.body ?? '',
      plan,
    }
  }

  const rows: readonly (readonly [string, object[], object, { asked: Json[]; inseparable?: Json[]; seen: Json }])[] = [
    ['one claim', [claim('given_name')], {}, { asked: ['Ada'], seen: { given_name: 'Ada' } }],
    [
      'a claim in an object',
      [claim('address', 'city')],
      {},
      { asked: ['London'], seen: { address: { city: 'London' } } },
    ],
    [
      'a whole object',
      [claim('address')],
      {},
      { asked: ['London', 'St James’s Square'], seen: { address: subject.address } },
    ],
    ['all elements', [claim('degrees', null)], {}, { asked: subject.degrees, seen: { degrees: subject.degrees } }],
    ['the first element', [claim('degrees', 0)], {}, { asked: ['BSc'], seen: { degrees: ['BSc'] } }],
    [
      'an element by its number, and so those before it',
      [claim('degrees', 1)],
      {},
      { asked: ['MSc'], inseparable: ['BSc'], seen: { degrees: ['BSc', 'MSc'] } },
    ],
    [
      'the element that has a value, and no other',
      [{ ...claim('degrees', null), values: ['MSc'] }],
      {},
      { asked: ['MSc'], seen: { degrees: ['MSc'] } },
    ],
    [
      'a claim of an element by its number, and of those before it nothing',
      [claim('courses', 1, 'name')],
      {},
      { asked: ['Poetry'], seen: { courses: [{}, { name: 'Poetry' }] } },
    ],
    [
      'a claim of every element',
      [claim('courses', null, 'grade')],
      {},
      { asked: [1, 2], seen: { courses: [{ grade: 1 }, { grade: 2 }] } },
    ],
    ['an empty list', [claim('clubs')], {}, { asked: [[]], seen: { clubs: [] } }],
    ['nothing', [], { claims: undefined }, { asked: [], seen: {} }],
    [
      'the first claim set that it has',
      [
        { id: 'a', ...claim('degrees', 7) },
        { id: 'b', ...claim('given_name') },
        { id: 'c', ...claim('degrees', 1) },
      ],
      { claim_sets: [['a'], ['b'], ['c']] },
      { asked: ['Ada'], seen: { given_name: 'Ada' } },
    ],
  ]

  it.each(rows)('shows %s', async (_, claims, more, expected) => {
    const { seen, asked, inseparable, hidden, sent } = await presented(await holding(), asking(claims, more))
    // Objects in an array keep no order among their members.
    expect({ seen, asked: asked.sort(), inseparable }).toEqual({
      seen: expected.seen,
      asked: [...expected.asked].sort(),
      inseparable: expected.inseparable ?? [],
    })
    // Not a word of what is hidden is in the bytes that left.
    const token = JSON.parse(new URLSearchParams(sent).get('vp_token') ?? '') as { card: string[] }
    const { disclosures } = readSdJwt(token.card[0] ?? '')
    const bytes = disclosures.map((text) => Buffer.from(text, 'base64url').toString()).join()
    const values = ['Ada', 'Lovelace', 'London', 'BSc', 'MSc', 'PhD', 'Logic', 'Poetry'].map((value) => `"${value}"`)
    const text = JSON.stringify(expected.seen)
    expect(values.filter((value) => bytes.includes(value))).toEqual(values.filter((value) => text.includes(value)))
    expect(hidden).toContain('family_name')
  })

  it('says what cannot be hidden, and what comes with what was asked', async () => {
    const made = await holding({
      selective_disclosure: [
        ['credentialSubject', 'address'],
        ['credentialSubject', 'degrees'],
      ],
    })
    const { plan, inseparable, hidden, seen } = await presented(made, asking([claim('address', 'city')]))
    expect(inseparable).toEqual(['St James’s Square'])
    expect(hidden).toEqual(['degrees[0]', 'degrees[1]', 'degrees[2]'])
    expect(seen).toMatchObject({ given_name: 'Ada', family_name: 'Lovelace', address: subject.address })
    const [answer] = plan.matches
    const always = answer && 'disclosed' in answer ? answer.disclosed.filter(({ because }) => because === 'always') : []
    expect(always.map(({ position }) => pathText(position))).toContain('credentialSubject.family_name')
  })

  it('signs for this verifier and this request with the key of the credential', async () => {
    const made = await holding()
    const { plan, sent } = await presented(made, asking([claim('given_name')]))
    const form = new URLSearchParams(sent)
    expect([...form.keys()]).toEqual(['vp_token', 'state'])
    const { keyBinding } = readSdJwt((JSON.parse(form.get('vp_token') ?? '') as { card: string[] }).card[0] ?? '')
    expect(keyBinding?.payload).toMatchObject({ nonce: plan.request.nonce, aud: plan.request.clientId })
  })

  it('prefers the newest credential, and leaves out one that has expired', async () => {
    const made = testWallet(services.fetch, services.clock)
    const long = await receiveInto(made)
    later(services, 1)
    const short = await receiveInto(made, { validity_seconds: 60 })
    const first = await presented(made, asking([claim('given_name')]))
    later(services, 120)
    const second = await presented(made, asking([claim('given_name')]))
    const used = [first, second].map(({ plan }) =>
      plan.matches.map((each) => 'credential' in each && each.credential.id),
    )
    expect(used).toEqual([[short], [long]])
  })

  it('takes an older credential when the newest lacks what is asked', async () => {
    const made = testWallet(services.fetch, services.clock)
    const full = await receiveInto(made)
    later(services, 1)
    await receiveInto(made, {}, { family_name: 'Lovelace' })
    const { plan } = await presented(made, asking([claim('given_name')]))
    expect(plan.matches).toMatchObject([{ credential: { id: full } }])
  })

  it('presents every credential that answers where several are welcome, and the newest where one is', async () => {
    const made = testWallet(services.fetch, services.clock)
    const older = await receiveInto(made)
    later(services, 1)
    await receiveInto(made, {}, { family_name: 'Byron' })
    later(services, 1)
    const newer = await receiveInto(made, {}, { given_name: 'Augusta' })
    for (const [multiple, used] of [
      [true, [newer, older]],
      [false, [newer]],
    ] as const) {
      const { sessionId, link } = await startVerification(services, asking([claim('given_name')], { multiple }))
      const plan = await planPresentation(made.wallet, link)
      expect(plan.matches.map((answer) => 'credential' in answer && answer.credential.id)).toEqual(used)
      await sendPresentation(made.wallet, plan)
      const { result } = (await statusOf(services, VERIFIER_URL, sessionId)) as {
        result: { verified: boolean; credentials: { card: { claims: JsonObject }[] } }
      }
      const names = [{ given_name: 'Augusta' }, { given_name: 'Ada' }].slice(0, used.length)
      expect([result.verified, result.credentials.card.map(({ claims }) => claims.credentialSubject)]).toEqual([
        true,
        names,
      ])
    }
  })

  const unanswerable: readonly (readonly [string, object, RegExp])[] = [
    ['a claim is missing', asking([claim('gpa')]), /Student card \(\w+\): .*it has no credentialSubject\.gpa/],
    ['a claim has another value', asking([{ ...claim('given_name'), values: ['Bob'] }]), /expected "Bob"/],
    [
      'no credential has the type',
      asking([claim('a')], { meta: { type_values: [['Ticket'], ['Pass', 'Gold']] } }),
      /type Ticket or Pass \+ Gold/,
    ],
  ]

  it('presents nothing that was removed since the request was opened', async () => {
    const made = await holding()
    const { link } = await startVerification(services)
    const plan = await planPresentation(made.wallet, link)
    made.texts.clear()
    expect(await errorOf(sendPresentation(made.wallet, plan))).toMatchObject({
      code: 'cannot_answer',
      message: expect.stringContaining('no longer holds') as string,
    })
    expect(made.sent.filter(({ to }) => to.includes(RESPONSE))).toEqual([])
  })

  it.each(unanswerable)('says why it cannot, and sends nothing: %s', async (_, query, problem) => {
    const made = await holding()
    const { link } = await startVerification(services, query)
    const plan = await planPresentation(made.wallet, link)
    expect([plan.problem, plan.chosenQueryIds]).toEqual([expect.stringMatching(problem), []])
    expect((await errorOf(sendPresentation(made.wallet, plan))).code).toBe('cannot_answer')
    expect(made.sent.filter(({ to }) => to.includes(RESPONSE))).toEqual([])
  })

  it('says so when a credential has expired, when one is damaged, and when it is empty', async () => {
    const made = testWallet(services.fetch, services.clock)
    const { link } = await startVerification(services)
    expect((await planPresentation(made.wallet, link)).problem).toBe(
      'card: the wallet has no credential of the type StudentCard',
    )
    await receiveInto(made, { validity_seconds: 60 })
    later(services, 120)
    made.texts.set('broken', '{')
    const { problem } = await planPresentation(made.wallet, link)
    expect(problem).toMatch(/it expired on .*; receive a new one; stored credential broken is damaged: it is not JSON/)
  })

  it('answers what is required and leaves out what is optional', async () => {
    const [card] = asking([claim('given_name')]).credentials
    const query = {
      credentials: [card, { ...card, id: 'other' }],
      credential_sets: [{ options: [['other']], required: false }, { options: [['card']] }],
    }
    const made = await holding()
    const { plan, sent } = await presented(made, query)
    expect(plan.chosenQueryIds).toEqual(['card'])
    expect(Object.keys(JSON.parse(new URLSearchParams(sent).get('vp_token') ?? '') as object)).toEqual(['card'])
  })

  it('answers a query by its id, whatever that is', async () => {
    const made = await holding()
    const { sessionId, link } = await startVerification(services, asking([claim('given_name')], { id: '__proto__' }))
    await sendPresentation(made.wallet, await planPresentation(made.wallet, link))
    expect(new URLSearchParams(made.sent.at(-1)?.body).get('vp_token')).toMatch(/^\{"__proto__":\[".*"\]\}$/)
    expect(await statusOf(services, VERIFIER_URL, sessionId)).toMatchObject({ status: 'VERIFICATION_SUCCEEDED' })
  })

  it('declines, and says nothing else', async () => {
    const made = await holding()
    const { sessionId, link } = await startVerification(services)
    await decline(made.wallet, await planPresentation(made.wallet, link))
    expect(await statusOf(services, VERIFIER_URL, sessionId)).toMatchObject({ status: 'DECLINED' })
    const form = new URLSearchParams(made.sent.at(-1)?.body)
    expect([...form.keys()]).toEqual(['error', 'error_description', 'state'])
    expect(form.get('error')).toBe('access_denied')
  })

  it('asks the question of the verifier itself before anything leaves', async () => {
    const made = await holding()
    const plan = await planPresentation(made.wallet, (await startVerification(services)).link)
    const withLess = { ...plan, matches: plan.matches.map((match) => ({ ...match, positions: [] })) }
    const error = await errorOf(sendPresentation(made.wallet, withLess))
    expect([error.code, error.message]).toEqual([
      'cannot_answer',
      expect.stringContaining('would not answer the request'),
    ])
    expect(made.sent.filter(({ to }) => to.includes(RESPONSE))).toEqual([])
  })

  it.each([
    ['passes on', 'https://shop.example/done?response_code=1', true],
    ['passes on', 'http://localhost:8080/done', true],
    ['keeps to itself', 'http://shop.example/done', false],
    ['keeps to itself', 'javascript:alert(1)', false],
    ['keeps to itself', 'file:///etc/passwd', false],
    ['keeps to itself', 'done', false],
  ])('%s that the verifier wants the person to go to %s', async (_, next, passedOn) => {
    const made = await holding()
    const { link } = await startVerification(services)
    const wallet = {
      ...made.wallet,
      fetch: changing(services.fetch, RESPONSE, () => Response.json({ redirect_uri: next })),
    }
    expect(await sendPresentation(wallet, await planPresentation(wallet, link))).toEqual(
      passedOn ? { redirect_uri: next } : {},
    )
  })

  const refusals: readonly (readonly [string, () => Response, object])[] = [
    [
      'says no',
      () => Response.json({ error: 'invalid_request', error_description: 'no' }, { status: 400 }),
      { code: 'refused', server: { error: 'invalid_request', error_description: 'no' } },
    ],
    [
      'redirects',
      () => new Response(null, { status: 303, headers: { location: 'https://a.example' } }),
      { code: 'invalid_response' },
    ],
    [
      'answers with a page',
      () => new Response('<p>', { headers: { 'content-type': 'text/html' } }),
      { code: 'invalid_response' },
    ],
  ]

  it.each(refusals)('is not taken for accepted when the verifier %s', async (_, answer, expected) => {
    const made = await holding()
    const { link } = await startVerification(services)
    const wallet = { ...made.wallet, fetch: changing(services.fetch, RESPONSE, answer) }
    expect(await errorOf(sendPresentation(wallet, await planPresentation(wallet, link)))).toMatchObject(expected)
  })

  it('learns from the verifier that a request has been answered', async () => {
    const made = await holding()
    const { link } = await startVerification(services)
    await sendPresentation(made.wallet, await planPresentation(made.wallet, link))
    expect(await errorOf(planPresentation(made.wallet, link))).toMatchObject({
      code: 'refused',
      server: { error: 'gone' },
    })
  })

  it('tells each step, and no claim', async () => {
    const made = await holding()
    made.steps.length = 0
    await presented(made, asking([claim('given_name')]))
    expect(made.steps.map(({ request, status }) => [request?.method, status])).toEqual([
      ['GET', 200],
      [undefined, undefined],
      ['POST', 200],
    ])
    expect(JSON.stringify(made.steps)).not.toMatch(new RegExp(`\\b${dataset.credentialSubject.given_name}\\b`))
  })
})

function later(services: Services, seconds: number): void {
  services.clock.now = new Date(services.clock.now.getTime() + seconds * 1000)
}
