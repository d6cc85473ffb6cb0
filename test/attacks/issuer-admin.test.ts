/**
 * Attacks and mistakes at the administrative endpoints of the issuance service: what a dataset or a configuration may
 * not hold. Each is refused with the path of the mistake and stores nothing. Facts section 5 item 10; interface section
 * 3.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { expectIssued, expectRefusal, expectWithoutEffect, readySession } from '../support/issuance.ts'
import { ISSUER_URL, type Services, startServices } from '../support/services.ts'
import { authorization, call, configuration, dataset, declare } from '../support/wire.ts'

interface Mistake {
  readonly mistake: string
  /** The members that replace those of a right body; a text is the whole body. */
  readonly body: Record<string, unknown> | string
  /** The words that the description must have. */
  readonly why: RegExp
}

/** Makes `{"a":{"a":… 1 …}}`. */
function nested(depth: number): unknown {
  let value: unknown = 1
  for (let i = 0; i < depth; i++) value = { a: value }
  return value
}

const subject = (claims: unknown): Record<string, unknown> => ({ credential_dataset: { credentialSubject: claims } })
const rawDataset = (credentialSubject: string): string =>
  `{"credential_dataset":{"credentialSubject":${credentialSubject}},"credential_configurations":["ID"]}`

const sessionMistakes: readonly Mistake[] = [
  { mistake: 'a claim named _sd', body: subject({ _sd: ['a'] }), why: /credentialSubject\._sd/ },
  { mistake: 'a claim named _sd_alg', body: subject({ _sd_alg: 'md5' }), why: /credentialSubject\._sd_alg/ },
  { mistake: 'a claim named ...', body: subject({ '...': 'a' }), why: /credentialSubject\.\.\.\./ },
  { mistake: '_sd inside an object', body: subject({ a: { b: { _sd: [] } } }), why: /credentialSubject\.a\.b\._sd/ },
  { mistake: '... inside an array', body: subject({ a: [1, { '...': 'digest' }] }), why: /credentialSubject\.a\[1\]/ },
  { mistake: '__proto__ in the subject', body: rawDataset('{"__proto__":{"a":1}}'), why: /__proto__|prototype/ },
  { mistake: '__proto__ deep in the subject', body: rawDataset('{"a":[{"__proto__":1}]}'), why: /__proto__|prototype/ },
  {
    mistake: '__proto__ written with escapes',
    body: rawDataset('{"\\u005f_proto__":{"a":1}}'),
    why: /__proto__|prototype/,
  },
  ...['iss', 'exp', 'cnf', 'status', 'vct', 'issuer', '_sd', 'validUntil', 'id'].map((name) => ({
    mistake: `${name} beside the subject`,
    body: { credential_dataset: { credentialSubject: {}, [name]: 'a' } },
    why: new RegExp(`credential_dataset\\.${name}`),
  })),
  { mistake: 'a subject nested too deep', body: subject(nested(17)), why: /deeper/ },
  {
    mistake: 'a subject nested 100,000 deep',
    body: rawDataset(`${'{"a":'.repeat(1e5)}1${'}'.repeat(1e5)}`),
    why: /deep/,
  },
  {
    mistake: 'more claims than a credential holds',
    body: subject({ a: Array.from({ length: 2001 }, () => 1) }),
    why: /credential_dataset.credentialSubject.*2000/,
  },
  { mistake: 'no dataset', body: { credential_dataset: undefined }, why: /credential_dataset: required/ },
  { mistake: 'a dataset that is a text', body: { credential_dataset: 'a' }, why: /credential_dataset/ },
  {
    mistake: 'a dataset for each configuration, as a sign-in has them',
    body: { credential_dataset: [{ configurationId: 'a', dataset }] },
    why: /credential_dataset/,
  },
  { mistake: 'a dataset without subject', body: { credential_dataset: {} }, why: /credentialSubject/ },
  { mistake: 'a subject that is an array', body: subject([{}]), why: /credentialSubject/ },
  { mistake: 'a subject without claims', body: subject({}), why: /credential_dataset\.credentialSubject: .*claims/ },
  ...[5, null, '', 'ada', 'not a uri', ['did:example:1'], { id: 'did:example:1' }].map((id) => ({
    mistake: `a subject whose id is ${JSON.stringify(id)}`,
    body: subject({ id, name: 'Ada' }),
    why: /credential_dataset\.credentialSubject\.id: it must be a URL/,
  })),
  { mistake: 'a subject of null', body: subject(null), why: /credentialSubject/ },
  {
    mistake: 'no configurations',
    body: { credential_configurations: undefined },
    why: /credential_configurations: required/,
  },
  {
    mistake: 'an empty list of configurations',
    body: { credential_configurations: [] },
    why: /credential_configurations/,
  },
  {
    mistake: 'a configuration that is a number',
    body: { credential_configurations: [1] },
    why: /credential_configurations\[0\]/,
  },
  {
    mistake: 'a configuration twice',
    body: { credential_configurations: ['a', 'a'] },
    why: /credential_configurations/,
  },
  {
    mistake: 'an unknown configuration',
    body: { credential_configurations: ['nobody'] },
    why: /credential_configurations\[0\].*nobody/,
  },
  ...['a\u001b[2Jb', 'a\nb', 'a\u202eb'].map((description) => ({
    mistake: `a description of the code that moves the cursor (${JSON.stringify(description)})`,
    body: { tx_code: { description } },
    why: /^tx_code\.description: write it in one line; it has a line break or a control character$/,
  })),
  { mistake: 'an expiry of zero', body: { expires_in: 0 }, why: /expires_in/ },
  { mistake: 'an expiry after a week', body: { expires_in: 604_801 }, why: /expires_in/ },
  { mistake: 'an expiry of half a second', body: { expires_in: 0.5 }, why: /expires_in/ },
  { mistake: 'an expiry in a text', body: { expires_in: '600' }, why: /expires_in/ },
  { mistake: 'a misspelt member', body: { expiresIn: 600 }, why: /expiresIn: unknown/ },
  ...[
    ['that can be guessed', 'a'.repeat(15)],
    ['of 513 characters', 'a'.repeat(513)],
    ['with a space', `${'a'.repeat(16)} b`],
    ['with a line break', `${'a'.repeat(16)}\n`],
    ['beyond ASCII', 'é'.repeat(16)],
    ['that is a number', 1234567890123456],
    ['of null', null],
  ].map(([name, code]) => ({
    mistake: `a pre-authorized_code ${String(name)}`,
    body: { 'pre-authorized_code': code },
    why: /pre-authorized_code/,
  })),
  { mistake: 'a body that is not JSON', body: '{"credential_dataset":', why: /./ },
  { mistake: 'an array as the body', body: '[]', why: /object/ },
  { mistake: 'null as the body', body: 'null', why: /object/ },
]

const displayed = (...display: object[]) => ({ credential_metadata: { display } })
const imaged = (uri: string) => displayed({ name: 'a', logo: { uri } })
const describedMistakes: readonly Mistake[] = [
  ...['en_GB', 'e', 'english language', '', 'x'].map((locale) => ({
    mistake: `the locale "${locale}"`,
    body: displayed({ name: 'a', locale: 'en' }, { name: 'b', locale }),
    why: /credential_metadata\.display\[1\]\.locale: .*BCP 47/,
  })),
  {
    mistake: 'a language twice, written differently',
    body: displayed({ name: 'a', locale: 'en-GB' }, { name: 'b', locale: 'EN-gb' }),
    why: /credential_metadata\.display\[1\]\.locale: .*already/,
  },
  {
    mistake: 'a language twice for a claim',
    body: {
      credential_metadata: {
        claims: [
          {
            path: ['credentialSubject', 'a'],
            display: [
              { name: 'a', locale: 'de' },
              { name: 'b', locale: 'de' },
            ],
          },
        ],
      },
    },
    why: /credential_metadata\.claims\[0\]\.display\[1\]\.locale/,
  },
  ...[
    'javascript:alert(1)',
    'http://logo.example/a.png',
    'logo.png',
    '',
    'data:text/html,<p>',
    'data:;base64,AA==',
  ].map((uri) => ({
    mistake: `a logo at "${uri}"`,
    body: imaged(uri),
    why: /credential_metadata\.display\[0\]\.logo\.uri: .*https/,
  })),
  ...['red', '#GGGGGG', '#1', '#12345', '#1020301', '', '"><script>', '#fff;position:fixed'].flatMap((color) =>
    ['background_color', 'text_color'].map((member) => ({
      mistake: `the colour "${color}" for ${member}`,
      body: displayed({ name: 'a', [member]: color }),
      why: new RegExp(`credential_metadata\\.display\\[0\\]\\.${member}: .*#102030`),
    })),
  ),
  ...(
    [
      ['a name', { name: 'x'.repeat(501) }, 'name'],
      ['a description', { name: 'a', description: 'x'.repeat(2001) }, 'description'],
      ['the text of a logo', { name: 'a', logo: { uri: 'https://a.example', alt_text: 'x'.repeat(501) } }, 'alt_text'],
    ] as const
  ).map(([text, display, member]) => ({
    mistake: `${text} that is too long`,
    body: displayed(display),
    why: new RegExp(`${member}: `),
  })),
  ...(
    [
      [
        'a name with an escape character',
        displayed({ name: 'a\u001b[2Jb' }),
        /display\[0\]\.name: .*control character/,
      ],
      ['a name of two lines', displayed({ name: 'a\nb' }), /display\[0\]\.name: .*control character/],
      [
        'a description that rings',
        displayed({ name: 'a', description: 'a\u0007' }),
        /description: .*control character/,
      ],
      [
        'a type with a NUL',
        { credential_definition: { ...configuration.credential_definition, x: ['a\u0000'] } },
        /x\[0\]: .*control character/,
      ],
      ['a name that begins like an image', displayed({ name: 'data:\u001b[2J' }), /display\[0\]\.name: .*control char/],
      [
        'a name that is written backwards',
        displayed({ name: '\u202eabc\u2028' }),
        /display\[0\]\.name: .*control char/,
      ],
      [
        'a member whose name moves the cursor',
        displayed({ name: 'a', '\u001b[2J': 'a' }),
        /display\[0\]\..\[2J: .*control character/,
      ],
      [
        'a description whose direction changes',
        displayed({ name: 'a', description: 'a\n\u2066b' }),
        /description: .*control character/,
      ],
    ] as const
  ).map(([mistake, body, why]) => ({ mistake, body, why })),
  {
    mistake: 'a background image that is not an image',
    body: displayed({ name: 'a', background_image: { uri: 'file:///etc/passwd' } }),
    why: /credential_metadata\.display\[0\]\.background_image\.uri/,
  },
]

const configurationMistakes: readonly Mistake[] = [
  ...['', ' ', '\u00a0', 'urn:x ', '\turn:x'].map((vct) => ({
    mistake: `the type ${JSON.stringify(vct)}, which is blank at an end`,
    body: { format: 'dc+sd-jwt', credential_definition: undefined, vct },
    why: /^vct: /,
  })),
  {
    mistake: 'an @context with a blank at its end',
    body: {
      credential_definition: {
        ...configuration.credential_definition,
        '@context': [...configuration.credential_definition['@context'], 'https://a.example/ '],
      },
    },
    why: /credential_definition\.@context: it must have blanks at neither end/,
  },
  {
    mistake: 'doctype, which is of another format',
    body: { doctype: 'a' },
    why: /doctype: does not go with this format; use credential_definition/,
  },
  {
    mistake: 'mso_mdoc with the definition of another format',
    body: { format: 'mso_mdoc', doctype: 'a' },
    why: /credential_definition: does not go with this format; use doctype/,
  },
  {
    mistake: 'mso_mdoc without a doctype',
    body: { format: 'mso_mdoc', credential_definition: undefined },
    why: /doctype: this format needs it/,
  },
  {
    mistake: 'mso_mdoc of which not every element can be hidden',
    body: { format: 'mso_mdoc', doctype: 'a', credential_definition: undefined, selective_disclosure: 'none' },
    why: /selective_disclosure: must be 'all'/,
  },
  { mistake: 'an unknown format', body: { format: 'paper' }, why: /format: paper is unknown/ },
  { mistake: 'no format', body: { format: undefined }, why: /format: required/ },
  { mistake: 'a format that is a number', body: { format: 1 }, why: /format/ },
  { mistake: 'batch_size 101', body: { batch_size: 101 }, why: /batch_size.*at most 100/ },
  { mistake: 'batch_size 1.5', body: { batch_size: 1.5 }, why: /batch_size.*integer/ },
  { mistake: 'batch_size 0', body: { batch_size: 0 }, why: /batch_size/ },
  { mistake: 'revocable that is a text', body: { revocable: 'no' }, why: /revocable/ },
  { mistake: 'another status than bitstring', body: { status: 'token' }, why: /^status/ },
  {
    mistake: 'a status of what is not revocable',
    body: { status: 'bitstring', revocable: false },
    why: /status: goes with revocable credentials/,
  },
  { mistake: 'vct, which is of another format', body: { vct: 'a' }, why: /vct: does not go with this format/ },
  { mistake: 'doctype, which is of another format', body: { doctype: 'a' }, why: /doctype: does not go with/ },
  ...describedMistakes,
  { mistake: 'a misspelt member', body: { credential_metdata: {} }, why: /credential_metdata: unknown/ },
  { mistake: 'no definition', body: { credential_definition: undefined }, why: /credential_definition/ },
  {
    mistake: 'a definition without @context',
    body: { credential_definition: { type: ['VerifiableCredential'] } },
    why: /credential_definition\.@context/,
  },
  {
    mistake: 'an empty @context',
    body: { credential_definition: { '@context': [], type: ['VerifiableCredential'] } },
    why: /@context/,
  },
  {
    mistake: 'a type that is a text',
    body: { credential_definition: { '@context': ['a'], type: 'VerifiableCredential' } },
    why: /credential_definition\.type/,
  },
  {
    mistake: 'no VerifiableCredential among the types',
    body: { credential_definition: { '@context': ['a'], type: ['A'] } },
    why: /VerifiableCredential/,
  },
  {
    mistake: 'a number among the types',
    body: { credential_definition: { '@context': ['a'], type: ['VerifiableCredential', 1] } },
    why: /type/,
  },
  {
    mistake: 'display that is not an array',
    body: { credential_metadata: { display: {} } },
    why: /credential_metadata\.display/,
  },
  {
    mistake: 'display without a name',
    body: { credential_metadata: { display: [{}] } },
    why: /credential_metadata\.display\[0\]\.name/,
  },
  {
    mistake: 'a logo without uri',
    body: { credential_metadata: { display: [{ name: 'a', logo: {} }] } },
    why: /display\[0\]\.logo\.uri/,
  },
  { mistake: 'a claim without path', body: { credential_metadata: { claims: [{}] } }, why: /claims\[0\]\.path/ },
  {
    mistake: 'a claim with an empty path',
    body: { credential_metadata: { claims: [{ path: [] }] } },
    why: /claims\[0\]\.path/,
  },
  {
    mistake: 'a claim with a negative index',
    body: { credential_metadata: { claims: [{ path: ['a', -1] }] } },
    why: /claims\[0\]\.path\[1\]/,
  },
  {
    mistake: 'a claim described twice',
    body: { credential_metadata: { claims: [{ path: ['a'] }, { path: ['a'] }] } },
    why: /claims\[1\]\.path.*already/,
  },
  {
    mistake: 'a mandatory that is a text',
    body: { credential_metadata: { claims: [{ path: ['a'], mandatory: 'yes' }] } },
    why: /mandatory/,
  },
  { mistake: 'a scope with a space', body: { scope: 'a b' }, why: /scope/ },
  {
    mistake: 'a selective_disclosure that is unknown',
    body: { selective_disclosure: 'some' },
    why: /selective_disclosure/,
  },
  {
    mistake: 'a selective_disclosure outside the subject',
    body: { selective_disclosure: [['issuer']] },
    why: /selective_disclosure\[0\]/,
  },
  {
    mistake: 'the subject itself as selective_disclosure',
    body: { selective_disclosure: [['credentialSubject']] },
    why: /selective_disclosure\[0\]/,
  },
  { mistake: 'a validity of zero', body: { validity_seconds: 0 }, why: /validity_seconds/ },
  { mistake: 'a validity of centuries', body: { validity_seconds: 1e12 }, why: /validity_seconds/ },
  {
    mistake: 'a definition nested 200,000 deep',
    body: `{"format":"jwt_vc_json-ld","credential_definition":${'{"a":'.repeat(1e5)}1${'}'.repeat(1e5)}}`,
    why: /deep/,
  },
  {
    mistake: 'a member that nests 100,000 deep in a right definition',
    body: JSON.stringify({ ...configuration, credential_metadata: { x: 'DEEP' } }).replace(
      '"DEEP"',
      `${'['.repeat(1e5)}${']'.repeat(1e5)}`,
    ),
    why: /deep/,
  },
  {
    mistake: '__proto__ where other members are ignored',
    body: JSON.stringify({ ...configuration, credential_metadata: 'PROTO' }).replace(
      '"PROTO"',
      '{"x":[{"__proto__":{}}]}',
    ),
    why: /credential_metadata\.x\[0\]\.__proto__: this name is reserved/,
  },
  { mistake: '__proto__', body: '{"format":"jwt_vc_json-ld","__proto__":{}}', why: /__proto__|prototype/ },
]

describe('a mistake of the integrating application', () => {
  let services: Services
  let id: string
  beforeAll(async () => {
    services = await startServices()
    id = await declare(services)
  })
  afterAll(() => services.close())

  const post = (path: string, body: string, headers: Record<string, string> = {}) =>
    services.fetch(`${ISSUER_URL}${path}`, {
      method: 'POST',
      headers: { ...authorization, 'content-type': 'application/json', ...headers },
      body,
    })
  const newSession = (body: Record<string, unknown> | string, headers?: Record<string, string>) => {
    const right = { credential_dataset: dataset, credential_configurations: [id] }
    const text =
      typeof body === 'string' ? body.replace('"ID"', JSON.stringify(id)) : JSON.stringify({ ...right, ...body })
    return post('/issuance/oid4vci/new-session', text, headers)
  }
  const create = (body: Record<string, unknown> | string) => {
    const text = typeof body === 'string' ? body : JSON.stringify({ ...configuration, ...body })
    return post('/credential-configuration/create', text)
  }

  it.each(sessionMistakes)('new-session refuses $mistake and stores nothing', async ({ body, why }) => {
    await expectWithoutEffect(services, () => newSession(body), { status: 400, error: 'invalid_request', why })
    expect((await newSession({})).status).toBe(200)
  })

  it.each(configurationMistakes)('create refuses $mistake and stores nothing', async ({ body, why }) => {
    await expectWithoutEffect(services, () => create(body), { status: 400, error: 'invalid_request', why })
  })

  it('refuses a second configuration that is unknown, and names its place', async () => {
    const response = await newSession({ credential_configurations: [id, 'nobody'] })
    await expectRefusal(response, {
      status: 400,
      error: 'invalid_request',
      why: /credential_configurations\[1\].*nobody/,
    })
  })

  it('refuses a dataset without a mandatory claim, and names its path', async () => {
    const claims = [{ path: ['credentialSubject', 'degrees', null, 'name'], mandatory: true }]
    const strict = await declare(services, { ...configuration, credential_metadata: { claims } })
    const start = (claimsOf: object) => newSession({ ...subject(claimsOf), credential_configurations: [strict] })
    for (const wrong of [
      { a: 1 },
      { degrees: [] },
      { degrees: {} },
      { degrees: ['BSc'] },
      { degrees: [{ title: 'BSc' }] },
    ]) {
      const refusal = { status: 400, error: 'invalid_request', why: /credential_dataset\.credentialSubject\.degrees/ }
      await expectRefusal(await start(wrong), refusal)
    }
    expect((await start({ degrees: [{ name: 'BSc' }] })).status).toBe(200)
  })

  it('does not take members that every object has for a mandatory claim', async () => {
    const claims = [{ path: ['credentialSubject', 'constructor'], mandatory: true }]
    const strict = await declare(services, { ...configuration, credential_metadata: { claims } })
    const response = await newSession({ ...subject({ a: 1 }), credential_configurations: [strict] })
    await expectRefusal(response, { status: 400, error: 'invalid_request', why: /constructor/ })
  })

  it('issues claims named like registered ones inside the subject, and like members of every object', async () => {
    const claims = {
      status: 'enrolled',
      iss: 'a',
      exp: 1,
      cnf: {},
      vct: 'b',
      id: 'did:example:1',
      constructor: { prototype: 'c' },
      toString: 'd',
      valueOf: null,
    }
    const session = await readySession(services, { ...subject(claims), credential_configurations: [id] })
    const credential = await expectIssued(session)
    const { cnf, iss, status } = JSON.parse(
      Buffer.from(credential.split('.')[1] ?? '', 'base64url').toString(),
    ) as Record<string, unknown>
    const ours = { status_list: { idx: expect.any(Number) as number, uri: expect.any(String) as string } }
    expect([cnf, iss, status]).toEqual([{ jwk: session.holder.jwk }, ISSUER_URL, ours])
  })

  it.each([
    ['names and values in every script', { 'ключ "\\~.': '😀 ~ \u0000 \u2028', '': '' }],
    ['empty objects and arrays', { a: {}, b: [], c: [[]], d: [{}], e: null, f: false, g: 0 }],
    ['names that are numbers', { 1: 'a', 0: 'b', '-1': 'c', length: 3 }],
    ['numbers at their limits', { a: Number.MAX_SAFE_INTEGER, b: 5e-324, c: -1, d: 0.1, e: -9007199254740991 }],
    ['two thousand values', { a: Array.from({ length: 1999 }, (_, at) => at) }],
    ['nesting up to the limit', nested(15) as object],
    ['an id that is a URL', { id: 'urn:uuid:58172aac-d8ba-11ed-83dd-0b3aef56cc33' }],
  ])('issues %s', async (_, claims) => {
    for (const disclosure of ['all', 'none']) {
      const configured = await declare(services, { ...configuration, selective_disclosure: disclosure })
      const session = await readySession(services, { ...subject(claims), credential_configurations: [configured] })
      await expectIssued(session)
    }
  })

  it('refuses half of a character, which no other parser may read, and names its path', async () => {
    const response = await newSession(rawDataset('{"a":{"b":["\\ud83d"]}}'))
    expect(response.status).toBe(400)
    expect(await response.json()).toMatchObject({
      error: 'invalid_request',
      error_description: expect.stringMatching(/credentialSubject\.a\.b\[0\]: this text has half/) as string,
    })
  })

  it.each(['12345678901234567890', '1e400', '-1e400', '9007199254740993'])(
    'refuses the number %s, which would be issued as another, and names its path',
    async (number) => {
      const response = await newSession(rawDataset(`{"a":{"b":[1,${number}]}}`))
      expect(response.status).toBe(400)
      expect(await response.json()).toMatchObject({
        error: 'invalid_request',
        error_description: expect.stringMatching(
          /credential_dataset\.credentialSubject\.a\.b\[1\].*send it as text/,
        ) as string,
      })
    },
  )

  it('keeps a dataset with minus zero issuable', async () => {
    const started = await newSession(rawDataset('{"a":-0,"b":-0.0}'))
    const { session_id: sessionId } = (await started.json()) as { session_id: string }
    expect(JSON.stringify(await services.issuerStore.get('issuance_dataset', sessionId))).toContain('"a":0')
  })

  it('starts sessions that do not know each other, with ids of 144 random bits', async () => {
    const ids = new Set<string>()
    for (let i = 0; i < 20; i++) {
      const { session_id: sessionId } = (await (await newSession({})).json()) as { session_id: string }
      // The time, in seven letters, and 18 random bytes.
      expect(sessionId).toMatch(/^[\w-]{31}$/)
      ids.add(sessionId.slice(7))
    }
    expect(ids.size).toBe(20)
  })

  it('shows no claim of a dataset to somebody without the API key, and none in the log', async () => {
    const session = await readySession(services, { ...subject({ name: 'Xanthippe' }), credential_configurations: [id] })
    for (const path of [
      `/issuance/oid4vci/status/${session.sessionId}`,
      `/issuance/oid4vci/credential-offer/${session.sessionId}`,
      `/.well-known/openid-credential-issuer/${session.sessionId}`,
      `/.well-known/oauth-authorization-server/${session.sessionId}`,
    ]) {
      expect(await (await services.fetch(`${ISSUER_URL}${path}`)).text()).not.toContain('Xanthippe')
    }
    expect(
      await (await call(services, `${ISSUER_URL}/issuance/oid4vci/status/${session.sessionId}`)).text(),
    ).not.toContain('Xanthippe')
    await expectIssued(session)
    expect(services.logLines.join('')).not.toContain('Xanthippe')
  })
})
