/**
 * Attacks on the transaction code. A wrong one costs an attempt and not the code, and of attempts there are five,
 * however many come at once. OpenID4VCI 1.0, Token Error Response and Transaction Code Phishing; facts section 5 item
 * 3.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { IssuanceSession } from '../../src/issuer/session.ts'
import { dump, expectIssued, expectRefusal, expectWithoutEffect, TOKEN_ENDPOINT } from '../support/issuance.ts'
import { ISSUER_URL, type Services, startServices } from '../support/services.ts'
import { call, codeOf, dataset, declare, fetchNonce, GRANT, holderSigner, postForm, statusOf } from '../support/wire.ts'

describe('a transaction code', () => {
  let services: Services
  let configurationId: string
  beforeAll(async () => {
    services = await startServices()
    configurationId = await declare(services)
  })
  afterAll(() => services.close())

  const post = (txCode: unknown, more = {}) =>
    call(services, `${ISSUER_URL}/issuance/oid4vci/new-session`, {
      credential_dataset: dataset,
      credential_configurations: [configurationId],
      tx_code: txCode,
      ...more,
    })

  async function started(txCode: Record<string, unknown> = { value: '493536' }, more = {}) {
    const response = await post(txCode, more)
    const body = (await response.json()) as { session_id: string; tx_code?: string }
    expect(response.status).toBe(200)
    const sessionId = body.session_id
    const code = await codeOf(services, sessionId)
    const form = { grant_type: GRANT, 'pre-authorized_code': code }
    return { services, configurationId, sessionId, code, form, generated: body.tx_code, body }
  }
  type Session = Awaited<ReturnType<typeof started>>

  const offerOf = (sessionId: string) => services.fetch(`${ISSUER_URL}/issuance/oid4vci/credential-offer/${sessionId}`)
  const askedBy = async (sessionId: string) => {
    const { grants } = (await (await offerOf(sessionId)).json()) as { grants: Record<string, { tx_code?: unknown }> }
    return grants[GRANT]?.tx_code
  }
  const guess = ({ sessionId, form }: Session, txCode?: string, endpoint = `${TOKEN_ENDPOINT}/${sessionId}`) =>
    postForm(services, endpoint, { ...form, ...(txCode === undefined ? {} : { tx_code: txCode }) })
  const stored = async ({ sessionId }: Session) =>
    (await services.issuerStore.get('issuance_session', sessionId))?.value as IssuanceSession

  async function expectToken(response: Response, session: Session): Promise<void> {
    expect(response.status).toBe(200)
    const { access_token: token } = (await response.json()) as { access_token: string }
    const nonce = await fetchNonce(services, session.sessionId)
    const audience = `${ISSUER_URL}/${session.sessionId}`
    await expectIssued({ ...session, token, nonce, audience, holder: await holderSigner() })
  }

  describe('that a session is started with', () => {
    it.each([
      { txCode: {}, asked: { input_mode: 'numeric', length: 6 }, value: /^[0-9]{6}$/ },
      { txCode: { length: 9 }, asked: { input_mode: 'numeric', length: 9 }, value: /^[0-9]{9}$/ },
      { txCode: { input_mode: 'text' }, asked: { input_mode: 'text', length: 8 }, value: /^[2-9A-HJ-NP-Z]{8}$/ },
      {
        txCode: { input_mode: 'text', length: 32 },
        asked: { input_mode: 'text', length: 32 },
        value: /^[2-9A-Z]{32}$/,
      },
      {
        txCode: { description: 'It is in the letter' },
        asked: { input_mode: 'numeric', length: 6, description: 'It is in the letter' },
        value: /^[0-9]{6}$/,
      },
      {
        // A right-to-left mark keeps the full stop at the end of the line.
        txCode: { description: 'במכתב (C++)\u200f.' },
        asked: { input_mode: 'numeric', length: 6, description: 'במכתב (C++)\u200f.' },
        value: /^[0-9]{6}$/,
      },
    ])('is generated for $txCode, told once, and asked for by the offer', async ({ txCode, asked, value }) => {
      const session = await started(txCode)
      expect(session.generated).toMatch(value)
      expect(await askedBy(session.sessionId)).toEqual(asked)
      const status = JSON.stringify(await statusOf(services, ISSUER_URL, session.sessionId))
      expect(status).not.toMatch(new RegExp(`\\b${session.generated}\\b`))
      await expectToken(await guess(session, session.generated), session)
    })

    it.each([
      { txCode: { value: '0042' }, asked: { input_mode: 'numeric', length: 4 } },
      { txCode: { value: '493536', length: 6 }, asked: { input_mode: 'numeric', length: 6 } },
      { txCode: { value: 'Größe-7!', input_mode: 'text' }, asked: { input_mode: 'text', length: 8 } },
      { txCode: { value: 'Größe-7!'.normalize('NFD'), input_mode: 'text' }, asked: { input_mode: 'text', length: 8 } },
    ])('is the one of $txCode, and not told again', async ({ txCode, asked }) => {
      const session = await started(txCode)
      expect(Object.keys(session.body)).toEqual(['session_id', 'credential_offer_uri'])
      expect(await askedBy(session.sessionId)).toEqual(asked)
      await expectToken(await guess(session, txCode.value), session)
    })

    it.each([
      ['null', null, /tx_code: must be an object/],
      ['a text', '1234', /tx_code: must be an object/],
      ['letters, where digits are said', { value: 'abcd' }, /tx_code\.value.*numeric.*digits/],
      ['digits of another script', { value: '٤٩٣٥٣٦' }, /tx_code\.value.*digits/],
      ['a space', { value: 'ab cd', input_mode: 'text' }, /tx_code\.value.*visible/],
      ['a control character', { value: 'abc\u0007', input_mode: 'text' }, /tx_code\.value.*visible/],
      ['another length than it says', { value: '12345', length: 6 }, /tx_code\.length.*5 characters/],
      ['three digits', { value: '123' }, /tx_code\.value/],
      ['two letters and their dots', { value: 'öü'.normalize('NFD'), input_mode: 'text' }, /4 characters or more/],
      ['33 digits', { value: '1'.repeat(33) }, /tx_code\.value/],
      ['a length of three', { length: 3 }, /tx_code\.length/],
      ['a length of 33', { length: 33 }, /tx_code\.length/],
      ['a length in a text', { length: '6' }, /tx_code\.length/],
      ['a number as its value', { value: 1234 }, /tx_code\.value/],
      ['another input_mode', { input_mode: 'alphanumeric' }, /tx_code\.input_mode.*numeric.*text/],
      ['a description of 301 characters', { description: 'a'.repeat(301) }, /tx_code\.description/],
      ['a misspelt member', { inputMode: 'text' }, /tx_code\.inputMode: unknown/],
    ])('is refused when it is %s, and nothing is stored', async (_, txCode, why) => {
      await expectWithoutEffect(services, () => post(txCode), { status: 400, error: 'invalid_request', why })
    })

    it('is another each time it is generated', async () => {
      const codes = await Promise.all(Array.from({ length: 20 }, async () => (await started({})).generated))
      expect(new Set(codes).size).toBeGreaterThan(18)
    })
  })

  it('is stored as a MAC of its session, and reaches no log', async () => {
    const [one, other] = [await started({ value: '87654321' }), await started({ value: '87654321' })]
    const generated = await started({ length: 12 })
    await guess(one, '12344321')
    await guess(one, '87654321')
    await guess(generated, generated.generated)
    const all = (await dump(services)) + services.logLines.join('')
    for (const text of ['87654321', '12344321', generated.generated ?? 'none']) expect(all).not.toContain(text)
    expect((await stored(one)).txCode?.mac).not.toBe((await stored(other)).txCode?.mac)
    expect((await stored(one)).txCode?.mac).toMatch(/^[\w-]{43}$/)
  })

  it.each([
    ['that is missing', undefined],
    ['without a value', ''],
  ])('%s is invalid_request and no attempt', async (_, txCode) => {
    const session = await started()
    const before = await dump(services)
    for (let count = 0; count < 6; count++) {
      const refused = await guess(session, txCode)
      await expectRefusal(refused, { status: 400, error: 'invalid_request', why: /tx_code is missing/ })
    }
    expect(await dump(services)).toBe(before)
    await expectToken(await guess(session, '493536'), session)
  })

  it('that comes twice is invalid_request and no attempt, also when one is right', async () => {
    const session = await started()
    const before = await dump(services)
    const form = `${new URLSearchParams(session.form).toString()}&tx_code=493536&tx_code=000000`
    await expectRefusal(await postForm(services, TOKEN_ENDPOINT, form), { status: 400, error: 'invalid_request' })
    expect(await dump(services)).toBe(before)
  })

  it.each(['493537', ' 493536', '493536 ', '0493536', '49353', '４９３５３６', '493536\0', 'x'.repeat(10_000)])(
    'that is wrong ("%s") costs an attempt and not the code',
    async (wrong) => {
      const session = await started()
      await expectRefusal(await guess(session, wrong), { status: 400, error: 'invalid_grant', why: /tx_code/ })
      expect((await stored(session)).txCode?.wrong).toBe(1)
      expect((await offerOf(session.sessionId)).status).toBe(200)
      await expectToken(await guess(session, '493536'), session)
    },
  )

  it('of another session is wrong, and costs the other nothing', async () => {
    const [a, b] = [await started({ value: '11111111' }), await started({ value: '22222222' })]
    await expectRefusal(await guess(a, '22222222'), { status: 400, error: 'invalid_grant', why: /tx_code/ })
    await expectRefusal(await guess(a, '11111111', `${TOKEN_ENDPOINT}/${b.sessionId}`), {
      status: 400,
      error: 'invalid_grant',
      why: /unknown/,
    })
    expect([(await stored(a)).txCode?.wrong, (await stored(b)).txCode?.wrong]).toEqual([1, 0])
  })

  it('is not looked at when the pre-authorized code is wrong: nobody without it uses up attempts', async () => {
    const session = await started()
    const forged = { ...session, form: { ...session.form, 'pre-authorized_code': `${session.sessionId}.x` } }
    await expectRefusal(await guess(forged, '000000'), { status: 400, error: 'invalid_grant', why: /unknown/ })
    expect((await stored(session)).txCode?.wrong).toBe(0)
  })

  it('may be wrong four times', async () => {
    const session = await started()
    for (let count = 0; count < 4; count++) await guess(session, '000000')
    await expectToken(await guess(session, '493536'), session)
  })

  it('that is wrong for the fifth time makes the code void: also the right one is refused, and the offer is gone', async () => {
    const session = await started()
    for (let count = 0; count < 5; count++) {
      await expectRefusal(await guess(session, '000000'), { status: 400, error: 'invalid_grant', why: /not the trans/ })
    }
    const before = await dump(services)
    for (const url of [TOKEN_ENDPOINT, `${TOKEN_ENDPOINT}/${session.sessionId}`]) {
      const refused = await guess(session, '493536', url)
      await expectRefusal(refused, { status: 400, error: 'invalid_grant', why: /void.*wrong/ })
    }
    await expectRefusal(await offerOf(session.sessionId), { status: 410, error: 'gone', why: /void.*wrong/ })
    expect(await statusOf(services, ISSUER_URL, session.sessionId)).toMatchObject({ status: 'EXPIRED' })
    expect(await dump(services)).toBe(before)
  })

  it('gives 50 wrong guesses at the same time five looks and not one more', async () => {
    const session = await started()
    const responses = await Promise.all(
      Array.from({ length: 50 }, (_, at) => guess(session, String(at).padStart(6, '0'))),
    )
    const texts = await Promise.all(responses.map((response) => response.text()))
    expect(responses.every(({ status }) => status === 400)).toBe(true)
    expect(texts.filter((text) => text.includes('not the transaction code'))).toHaveLength(5)
    expect(texts.filter((text) => text.includes('void'))).toHaveLength(45)
    expect((await stored(session)).txCode?.wrong).toBe(5)
  })

  it('gives one token to 50 right ones at the same time, and that token works', async () => {
    const session = await started()
    const responses = await Promise.all(Array.from({ length: 50 }, () => guess(session, '493536')))
    const [won, ...others] = responses.filter(({ status }) => status === 200)
    expect(others).toEqual([])
    await expectToken(won as Response, session)
    expect((await stored(session)).txCode?.wrong).toBe(0)
  })

  it('counts every wrong one among right ones at the same time', async () => {
    const session = await started()
    const responses = await Promise.all(
      Array.from({ length: 20 }, (_, at) => guess(session, at % 5 === 4 ? '493536' : '000000')),
    )
    const texts = await Promise.all(responses.map((response) => response.text()))
    const looks = texts.filter((text) => text.includes('not the transaction code')).length
    expect((await stored(session)).txCode?.wrong).toBe(looks)
    expect(looks).toBeLessThanOrEqual(5)
    expect(texts.filter((text) => text.includes('access_token')).length).toBeLessThanOrEqual(1)
  })

  it('that was right is used up with the code', async () => {
    const session = await started()
    await guess(session, '493536')
    await expectRefusal(await guess(session, '493536'), { status: 400, error: 'invalid_grant', why: /used/ })
    await expectRefusal(await guess(session, '000000'), { status: 400, error: 'invalid_grant', why: /used/ })
  })

  it('that comes after the code has expired is not an attempt', async () => {
    const session = await started({ value: '493536' }, { expires_in: 1 })
    const real = services.clock.now
    services.clock.now = new Date(real.getTime() + 1000)
    const refused = await guess(session, '000000')
    services.clock.now = real
    await expectRefusal(refused, { status: 400, error: 'invalid_grant', why: /expired/ })
    expect((await stored(session)).txCode?.wrong).toBe(0)
  })
})
