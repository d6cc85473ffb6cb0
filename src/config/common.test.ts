import { createPublicKey, generateKeyPair, type KeyObject } from 'node:crypto'
import { promisify } from 'node:util'
import { beforeAll, describe, expect, it } from 'vitest'
import { readIssuerConfig } from '../issuer/config.ts'
import { parseCertificate } from '../keys/certificate.ts'
import { writeName } from '../keys/certificate-name.ts'
import { createKeyRing, type ServiceKeys } from '../keys/key-ring.ts'
import { makeCertificate, toPem, usualExtensions } from '../keys/make-certificate.ts'
import { readVerifierConfig } from '../verifier/config.ts'
import type { Files } from './files.ts'

const DAY = 86_400_000
const now = new Date('2026-06-01T12:00:00Z')
const texts = new Map<string, string>()

const files: Files = {
  read: (path) => {
    const text = texts.get(path)
    if (text === undefined)
      throw Object.assign(new Error('no'), { code: path.startsWith('secret/') ? 'EACCES' : 'ENOENT' })
    return text
  },
  list: (directory) => {
    const names = [...texts.keys()].filter((path) => path.startsWith(`${directory}/`))
    if (names.length === 0) throw Object.assign(new Error('no'), { code: 'ENOENT' })
    return names.map((path) => path.slice(directory.length + 1))
  },
  resolveLink: (path) => path,
}

const caName = writeName([['CN', 'Some CA']])

interface Made {
  readonly by?: KeyObject
  readonly byName?: Buffer
  readonly name?: string
  readonly isCa?: boolean
  /** In days from now. */
  readonly from?: number
  readonly until?: number
}

/** Makes a certificate by `by`, which is Some CA; or self-signed. */
function certificate(
  key: KeyObject,
  { by = key, byName, name = 'Uni', isCa = false, from = -1, until = 90 }: Made,
): string {
  const subject = writeName([['CN', name]])
  const keys = { publicKey: createPublicKey(key), issuerPublicKey: createPublicKey(by) }
  return toPem(
    makeCertificate({
      subject,
      publicKey: keys.publicKey,
      issuer: { name: by === key ? subject : (byName ?? caName), privateKey: by },
      serial: Buffer.alloc(16, 1),
      notBefore: new Date(now.getTime() + from * DAY),
      notAfter: new Date(now.getTime() + until * DAY),
      extensions: usualExtensions({ ...keys, isCa, names: { uris: ['https://uni.example'] } }),
    }),
  )
}

beforeAll(async () => {
  const generate = promisify(generateKeyPair)
  const { privateKey: key } = await generate('ec', { namedCurve: 'P-256' })
  const { privateKey: other } = await generate('ec', { namedCurve: 'P-256' })
  const { privateKey: p384 } = await generate('ec', { namedCurve: 'P-384' })
  const { privateKey: k256 } = await generate('ec', { namedCurve: 'secp256k1' })
  const { privateKey: rsa } = await generate('rsa', { modulusLength: 2048 })
  const pem = (each: KeyObject) => each.export({ type: 'pkcs8', format: 'pem' }) as string
  texts.set('key.pem', pem(key))
  texts.set('sec1.pem', key.export({ type: 'sec1', format: 'pem' }) as string)
  texts.set('other.pem', pem(other))
  texts.set('p384.pem', pem(p384))
  texts.set('k256.pem', pem(k256))
  texts.set('rsa.pem', pem(rsa))
  const encrypted = { type: 'pkcs8', format: 'pem', cipher: 'aes-256-cbc', passphrase: 'x' } as const
  texts.set('encrypted.pem', key.export(encrypted) as string)
  texts.set('old.pem', key.export({ ...encrypted, type: 'sec1' }) as string)
  texts.set('public.pem', createPublicKey(key).export({ type: 'spki', format: 'pem' }) as string)
  texts.set('empty.pem', '')
  texts.set('text.pem', 'Dear reader')
  texts.set('cert.pem', certificate(key, { by: other }))
  texts.set('ca.pem', certificate(other, { name: 'Some CA', isCa: true }))
  texts.set('expired.pem', certificate(key, { by: other, from: -2, until: -1 }))
  texts.set('future.pem', certificate(key, { by: other, from: 1, until: 2 }))
  texts.set('self.pem', certificate(key, {}))
  texts.set('soon.pem', certificate(key, { by: other, until: 29.5 }))
  texts.set('p384-cert.pem', certificate(p384, { by: other }))
  texts.set('no-ca.pem', certificate(other, { name: 'Some CA' }))
  const chained = { byName: writeName([['CN', 'Middle']]) }
  texts.set('chained.pem', certificate(key, { ...chained, by: p384 }))
  texts.set('middle.pem', certificate(p384, { name: 'Middle', by: other, isCa: true }))
  texts.set('middle-soon.pem', certificate(p384, { name: 'Middle', by: other, isCa: true, until: 10 }))
  texts.set('middle-expired.pem', certificate(p384, { name: 'Middle', by: other, isCa: true, from: -3, until: -1 }))
  texts.set('ca-expired.pem', certificate(other, { name: 'Some CA', isCa: true, from: -3, until: -1 }))
  texts.set('broken.pem', texts.get('cert.pem')?.replace(/\n(.{20})/, '\nAAAA') ?? '')
  texts.set('anchors/one.pem', certificate(other, { name: 'Some CA', isCa: true }))
  texts.set('old-anchors/old.pem', texts.get('expired.pem') ?? '')
  texts.set('bad-anchors/bad.pem', 'Dear reader')
})

const KEY = 'k'.repeat(64)
const right = {
  baseUrl: 'https://uni.example',
  signing: { keyFile: 'key.pem', certificateFiles: ['cert.pem'] },
  integrations: { authentication: { [KEY]: 'shop' } },
  issuer: { id: 'https://uni.example', display: { name: 'Uni' } },
}
const { baseUrl, integrations } = right
const rightForVerifier = { baseUrl, signing: right.signing, integrations, issuerTrustAnchors: 'anchors' }

type Read = { readonly mistakes?: readonly string[]; readonly warnings?: readonly string[]; readonly config?: unknown }
const issuer = (changes: object = {}): Read => readIssuerConfig({ ...right, ...changes }, files, now)
const verifier = (changes: object = {}): Read => readVerifierConfig({ ...rightForVerifier, ...changes }, files, now)
const signing = (keyFile: string, ...certificateFiles: string[]) => ({ signing: { keyFile, certificateFiles } })

describe('a right configuration', () => {
  it('has its defaults, and nothing to warn of', () => {
    expect(issuer()).toMatchObject({
      warnings: [],
      config: {
        port: 8079,
        host: undefined,
        database: { kind: 'sqlite', file: 'data/issuer.db' },
        clockSkewSeconds: 60,
        encryptionKeys: [],
        retention: { personalDataSeconds: 0, sessionSeconds: 30 * 86_400 },
        issuer: { identifier: 'session' },
      },
    })
    const read = verifier()
    expect(read).toMatchObject({
      warnings: [],
      config: {
        port: 8081,
        database: { kind: 'sqlite', file: 'data/verifier.db' },
        presentationBytes: 524_288,
        requestLifetimeSeconds: 600,
        clientMetadata: {},
        retention: { personalDataSeconds: 86_400, sessionSeconds: 30 * 86_400 },
      },
    })
    expect((read.config as { trustAnchors: unknown[] }).trustAnchors).toHaveLength(1)
  })

  it('keeps personal data and sessions for as long as it says, personal data never longer', () => {
    const kept = (retention: object) => (verifier({ retention }).config as { retention: unknown }).retention
    expect(kept({ personalDataSeconds: 5 })).toEqual({ personalDataSeconds: 5, sessionSeconds: 30 * 86_400 })
    expect(kept({ sessionSeconds: 60 })).toEqual({ personalDataSeconds: 60, sessionSeconds: 60 })
    expect(kept({ personalDataSeconds: 0, sessionSeconds: 0 })).toEqual({ personalDataSeconds: 0, sessionSeconds: 0 })
    expect(verifier({ retention: { personalDataSeconds: 2, sessionSeconds: 1 } }).mistakes).toEqual([
      expect.stringMatching(
        /^retention\.personalDataSeconds: is more than retention\.sessionSeconds \(1\), with which/,
      ),
    ])
    const twoMonths = { retention: { personalDataSeconds: 60 * 86_400 } }
    for (const { mistakes } of [issuer(twoMonths), verifier(twoMonths)]) {
      expect(mistakes).toEqual([
        'retention.personalDataSeconds: is more than retention.sessionSeconds (2592000 when absent), with which the data is deleted; raise sessionSeconds to 5184000, or lower this',
      ])
    }
    expect(issuer({ retention: { personalDataSeconds: -1, sessionsSeconds: 1 } }).mistakes).toHaveLength(2)
  })

  it('may have a key for its database, which then may be the usual one', () => {
    texts.set('keys.txt', Buffer.from(Array.from({ length: 32 }, (_, n) => n * 7)).toString('base64'))
    const read = issuer({ database: { encryptionKeyFile: 'keys.txt' } })
    expect(read).toMatchObject({
      config: { database: { kind: 'sqlite', file: 'data/issuer.db' }, encryptionKeys: [expect.any(Buffer)] },
    })
    expect(issuer({ database: { encryptionKeyFile: 'none.txt' } }).mistakes).toEqual([
      expect.stringMatching(/^database\.encryptionKeyFile: there is no such file: none\.txt; make one/),
    ])
  })

  it('takes every setting that the interface names', () => {
    const database = {
      persistenceUnitName: 'issuer',
      driver: 'org.sqlite.JDBC',
      url: 'jdbc:sqlite:a.db',
      user: 'a',
      password: 'b',
    }
    const tls = { keyFile: 'rsa.pem', certificateFiles: ['cert.pem'] }
    const common = { port: 0, host: '127.0.0.1', database, clockSkewSeconds: 0 }
    expect(issuer({ ...common, issuer: { ...right.issuer, identifier: 'base' } }).mistakes).toBe(undefined)
    const clientMetadata = { clientName: 'Shop', logoUri: 'https://shop.example/logo.png' }
    expect(verifier({ ...common, clientMetadata, requestLifetimeSeconds: 60 })).toMatchObject({
      config: { clientMetadata: { client_name: 'Shop', logo_uri: 'https://shop.example/logo.png' } },
    })
    for (const logoUri of ['javascript:alert(1)', 'logo.png', 'http://shop.example/logo.png', 'data:text/html,x', '']) {
      expect(verifier({ clientMetadata: { logoUri } }).mistakes).toEqual([
        'clientMetadata.logoUri: it must be an https: URL of at most 2048 characters, or a data: URI of an image',
      ])
    }
    const logoWarning = expect.stringMatching(/^clientMetadata\.logoUri: .*Credo.*data:image\/png;base64,/) as string
    for (const [logoUri, warnings] of [
      ['https://shop.example/logo.svg', []],
      ['data:image/png;base64,AAAA', []],
      ['data:image/svg+xml;base64,AAAA', [logoWarning]],
      ['data:image/png,AAAA', [logoWarning]],
      ['data:image/png;charset=utf-8,AAAA', [logoWarning]],
      ['http://127.0.0.1/logo.png', [logoWarning]],
    ] as const) {
      expect([logoUri, verifier({ clientMetadata: { logoUri } })]).toMatchObject([logoUri, { warnings }])
    }
    expect(verifier({ clientMetadata: { clientName: '' } }).mistakes).toEqual([
      expect.stringMatching(/^clientMetadata\.clientName/),
    ])
    expect(verifier({ profile: 'haip' })).toMatchObject({ config: { profile: 'haip' } })
    expect(verifier({ profile: 'haip', ...signing('key.pem', 'self.pem') })).toEqual({
      mistakes: [expect.stringMatching(/^signing: the profile haip .*self-signed; get one, .*init verifier --profile/)],
    })
    const fetchesPrivateLists = (changes: object) =>
      (verifier(changes).config as { status: { allowPrivateAddresses: boolean } }).status.allowPrivateAddresses
    const [open, local] = [{ baseUrl: 'https://verifier.example' }, { baseUrl: 'http://127.0.0.1:8081' }]
    expect([open, local].map(fetchesPrivateLists)).toEqual([false, true])
    expect(fetchesPrivateLists({ ...open, status: { allowPrivateAddresses: true } })).toBe(true)
    expect(fetchesPrivateLists({ ...local, status: { allowPrivateAddresses: false } })).toBe(false)
    expect(verifier({ profile: 'hiap' }).mistakes).toEqual(['profile: must be "haip"'])
    expect(issuer({ profile: 'hiap' }).mistakes).toEqual(['profile: must be "haip"'])
    expect(issuer({ tls: right.signing }).mistakes).toBe(undefined)
    // Twice: on Node 20 a comparison of unlike keys could spoil the next key that is read.
    for (let i = 0; i < 2; i++) {
      expect(issuer({ tls }).mistakes).toEqual([expect.stringMatching(/^tls\.keyFile: the key is not the one/)])
    }
  })
})

describe.each([
  ['issuer', issuer],
  ['verifier', verifier],
])('the configuration of the %s', (service, read) => {
  const mistakesOf = (changes: object) => read(changes).mistakes ?? []

  it('refuses what it does not know, with the path', () => {
    expect(
      mistakesOf({
        prot: 1,
        signing: { ...right.signing, keyfile: 'a' },
        integrations: { ...right.integrations, x: 1 },
      }),
    ).toEqual(
      expect.arrayContaining([
        'prot: unknown setting or field; did you mean port?',
        'signing.keyfile: unknown setting or field; did you mean keyFile?',
        'integrations.x: unknown setting or field',
      ]),
    )
  })

  it('serves metrics on this machine alone unless another address is set', () => {
    expect(read({ management: { port: 9100 } })).toMatchObject({
      config: { management: { port: 9100, host: '127.0.0.1' } },
    })
    expect(mistakesOf({ management: {} })).toEqual([expect.stringMatching(/^management\.port: /)])
    expect(mistakesOf({ management: { port: 70_000 } })).toEqual([expect.stringMatching(/^management\.port: /)])
  })

  it.each(service === 'issuer' ? ['status'] : ['compatibility', 'authorizationServer', 'statusList'])(
    'knows nothing of %s, which is a setting of the other service',
    (name) => {
      for (const value of [{}, null, 'haip', 1]) {
        expect(mistakesOf({ [name]: value })).toEqual([`${name}: unknown setting or field`])
      }
    },
  )

  it.each([
    ['an address or a network of each kind', ['10.0.0.1', '10.0.0.0/8', '::1', '2001:db8::/32'], []],
    ['no name', ['proxy.example'], [0]],
    ['no prefix that is too long', ['10.0.0.1', '10.0.0.0/33', '::/129', '10.0.0.0/'], [1, 2, 3]],
  ])('takes as a trusted proxy %s', (_, trustedProxies, wrong) => {
    const text = 'it must be an IP address, or a network such as 10.0.0.0/8'
    expect(mistakesOf({ rateLimits: { trustedProxies } })).toEqual(
      wrong.map((index) => `rateLimits.trustedProxies[${index}]: ${text}`),
    )
  })

  it('tells every mistake at once, those of the shape and those of files, each with its path', () => {
    const mistakes = mistakesOf({
      prot: 1,
      port: 'a',
      profile: 'hiap',
      baseUrl: 'ftp://uni.example/',
      database: { url: 'mysql://a' },
      clockSkewSeconds: -1,
      integrations: { authentication: {} },
      ...signing('missing.pem', 'nowhere.pem', 'text.pem'),
      tls: { keyFile: 'text.pem', certificateFiles: ['expired.pem'] },
    })
    const paths = mistakes.map((mistake) => mistake.split(': ')[0])
    expect(paths.sort()).toEqual([
      'baseUrl',
      'clockSkewSeconds',
      'database.url',
      'integrations.authentication',
      'port',
      'profile',
      'prot',
      'signing.certificateFiles[0]',
      'signing.certificateFiles[1]',
      'signing.keyFile',
      'tls.keyFile',
    ])
  })

  it('names everything that is missing', () => {
    const empty = service === 'issuer' ? readIssuerConfig({}, files, now) : readVerifierConfig({}, files, now)
    const needed = ['baseUrl', 'signing', 'integrations', ...(service === 'issuer' ? ['issuer'] : [])]
    expect('mistakes' in empty ? [...empty.mistakes].sort() : []).toEqual(
      needed.map((name) => `${name}: required`).sort(),
    )
  })

  it.each([[null], [[]], ['a'], [1], [undefined]])('refuses %j, which is not an object', (value) => {
    const result = service === 'issuer' ? readIssuerConfig(value, files, now) : readVerifierConfig(value, files, now)
    expect(result).toEqual({ mistakes: ['the configuration must be a JSON object'] })
  })

  it.each([
    ['missing.pem', /^signing\.keyFile: there is no such file: missing\.pem$/],
    ['secret/key.pem', /^signing\.keyFile: the file may not be read/],
    ['empty.pem', /^signing\.keyFile: it holds no private key in PEM \(OpenSSL: [a-z0-9 ]+\): empty\.pem$/],
    ['text.pem', /^signing\.keyFile: it holds no private key/],
    ['cert.pem', /^signing\.keyFile: it holds no private key/],
    ['public.pem', /^signing\.keyFile: it holds no private key/],
    ['encrypted.pem', /^signing\.keyFile: it is encrypted/],
    ['old.pem', /^signing\.keyFile: it is encrypted/],
    ['rsa.pem', /^signing\.keyFile: it holds a key of type rsa; use EC on P-256, P-384 or P-521, or Ed25519/],
    ['k256.pem', /^signing\.keyFile: it holds a key of type secp256k1/],
    ['p384.pem', /^signing\.keyFile: the key is not the one of the first certificate/],
    ['other.pem', /^signing\.keyFile: the key is not the one of the first certificate \(CN=Uni\)/],
  ])('refuses the key file %s', (file, mistake) => {
    expect(mistakesOf(signing(file, 'cert.pem'))).toEqual([expect.stringMatching(mistake)])
  })

  it.each([
    ['missing.pem', /^signing\.certificateFiles\[0\]: there is no such file: missing\.pem$/],
    ['empty.pem', /^signing\.certificateFiles\[0\]: /],
    ['text.pem', /^signing\.certificateFiles\[0\]: /],
    ['broken.pem', /^signing\.certificateFiles\[0\]: /],
    ['key.pem', /^signing\.certificateFiles\[0\]: /],
    ['expired.pem', /^signing\.certificateFiles\[0\]: .*expired/],
    ['future.pem', /^signing\.certificateFiles\[0\]: .*not valid (yet|before)|from/],
    ['no-ca.pem', /^signing\.keyFile: the key is not the one/],
  ])('refuses the certificate file %s', (file, mistake) => {
    expect(mistakesOf(signing('key.pem', file))).toEqual([expect.stringMatching(mistake)])
  })

  it('takes a key in SEC1, and certificates in several files', () => {
    expect(mistakesOf(signing('sec1.pem', 'cert.pem', 'ca.pem'))).toEqual([])
    expect(mistakesOf(signing('key.pem', 'cert.pem', 'missing.pem'))).toEqual([
      'signing.certificateFiles[1]: there is no such file: missing.pem',
    ])
  })

  it('takes a chain in one file or several, with its anchor or without', () => {
    texts.set('all.pem', ['chained.pem', 'middle.pem', 'ca.pem'].map((name) => texts.get(name)).join(''))
    texts.set('rest.pem', ['middle.pem', 'ca.pem'].map((name) => texts.get(name)).join(''))
    for (const names of [
      ['all.pem'],
      ['chained.pem', 'rest.pem'],
      ['chained.pem', 'middle.pem'],
      ['chained.pem', 'middle.pem', 'ca.pem'],
      ['chained.pem', 'middle.pem', 'ca-expired.pem'],
      ['chained.pem'],
    ]) {
      const { warnings, config } = read(signing('key.pem', ...names))
      expect([names, warnings]).toEqual([names, []])
      const { keys } = config as { keys: ServiceKeys }
      const sent = createKeyRing(keys).credentialSigner.x5c.map((text) => parseCertificate(Buffer.from(text, 'base64')))
      const { length } = keys.signing.chain
      expect(sent.map(({ subjectText }) => subjectText)).toEqual(['CN=Uni', 'CN=Middle'].slice(0, length))
    }
  })

  it.each<[string[], number, RegExp]>([
    [['cert.pem', 'middle.pem'], 1, /'CN=Middle' did not sign 'CN=Uni' before it; begin with that of the key/],
    [['chained.pem', 'ca.pem', 'middle.pem'], 1, /'CN=Some CA' did not sign 'CN=Uni'/],
    [['self.pem', 'ca.pem'], 1, /'CN=Some CA' did not sign 'CN=Uni'/],
    [['cert.pem', 'cert.pem'], 1, /'CN=Uni' did not sign 'CN=Uni'/],
    [['chained.pem', 'middle.pem', 'middle.pem'], 2, /'CN=Middle' did not sign 'CN=Middle'/],
    [['cert.pem', 'no-ca.pem'], 1, /'CN=Some CA' is not a CA/],
    [['chained.pem', 'middle-expired.pem'], 1, /'CN=Middle' expired/],
  ])('refuses the chain %j', (names, index, mistake) => {
    const [first = '', ...more] = mistakesOf(signing('key.pem', ...names))
    expect(first).toMatch(mistake)
    expect(first.startsWith(`signing.certificateFiles[${index}]: `)).toBe(true)
    expect(more.length).toBe(names.at(-1) === 'middle.pem' && names.length === 3 && index === 1 ? 1 : 0)
  })

  it('warns of a certificate that is self-signed, and of those that end within 30 days, if they are sent', () => {
    const warningsOf = (...names: string[]) => read(signing('key.pem', ...names)).warnings
    expect(warningsOf('self.pem')).toEqual([
      expect.stringMatching(/^signing: the certificate CN=Uni is self-signed.*HAIP.*get one from a CA/),
    ])
    const soon = 'signing: CN=Uni is valid until 2026-07-01, 29 days from now: renew it soon'
    expect(warningsOf('soon.pem')).toEqual([soon])
    expect(warningsOf('soon.pem', 'ca.pem')).toEqual([soon])
    expect(warningsOf('chained.pem', 'middle-soon.pem')).toEqual([
      'signing: CN=Middle is valid until 2026-06-11, 10 days from now: renew it soon',
    ])
    const tls = { keyFile: 'key.pem', certificateFiles: ['self.pem'] }
    expect(read({ tls }).warnings).toEqual([expect.stringMatching(/^tls: .* self-signed; phones/)])
    expect(read({ tls: { ...tls, certificateFiles: ['soon.pem'] } }).warnings).toEqual([soon.replace('signing', 'tls')])
  })

  it('warns of the certificate of an earlier key that ends within 30 days, or has ended', () => {
    const warningsOf = (...names: string[]) =>
      read({
        signing: {
          ...right.signing,
          previous: names.map((name) => ({ keyFile: 'key.pem', certificateFiles: [name] })),
        },
      }).warnings
    expect(warningsOf('self.pem')).toEqual([])
    expect(warningsOf('self.pem', 'soon.pem', 'expired.pem')).toEqual([
      'signing.previous[1]: CN=Uni is valid until 2026-07-01, 29 days from now: renew it soon, or take it out when nothing needs its key any more',
      'signing.previous[2]: the certificate CN=Uni ended on 2026-05-31: the newest key signs in its place; take this one out',
    ])
  })

  it('takes a key on another curve, which the wallets of a verifier may not take', () => {
    const { warnings, mistakes } = read(signing('p384.pem', 'p384-cert.pem'))
    expect(mistakes).toBe(undefined)
    expect(warnings).toEqual(
      service === 'issuer' ? [] : [expect.stringMatching(/^signing: the key is for ES384, .*HAIP.* ES256/)],
    )
  })

  it('refuses signing without files', () => {
    expect([...mistakesOf({ signing: {} })].sort()).toEqual([
      'signing.certificateFiles: required',
      'signing.keyFile: required',
    ])
    expect(mistakesOf({ signing: { keyFile: 'key.pem', certificateFiles: [] } })).toHaveLength(1)
  })

  it.each([
    ['https://uni.example/', /no path, query or trailing slash.*write https:\/\/uni\.example$/],
    ['https://uni.example/a', /write https:\/\/uni\.example$/],
    ['https://uni.example?a=b', /write https:\/\/uni\.example$/],
    ['https://uni.example#a', /write https:\/\/uni\.example$/],
    ['https://uni.example:443', /write https:\/\/uni\.example$/],
    ['HTTPS://uni.example', /write https:\/\/uni\.example$/],
    ['https://UNI.example', /write https:\/\/uni\.example$/],
    ['https://a:b@uni.example', /user or password/],
    ['ftp://uni.example', /begin with https/],
    ['javascript:alert(1)', /begin with https/],
    ['uni.example', /not a URL/],
    ['', /not a URL/],
  ])('refuses the baseUrl %s', (baseUrl, mistake) => {
    expect(mistakesOf({ baseUrl })).toEqual([expect.stringMatching(mistake)])
    expect(mistakesOf({ baseUrl })[0]).toMatch(/^baseUrl: /)
  })

  it.each([
    'https://uni.example',
    'https://uni.example:8443',
    'http://localhost:8079',
    'http://[::1]:8079',
    'https://xn--mnchen-3ya.example',
  ])('takes the baseUrl %s', (baseUrl) => {
    expect(read({ baseUrl })).toMatchObject({ warnings: [], config: { baseUrl } })
  })

  it('warns of http on a public host, and not on one that is private', () => {
    for (const [host, warns] of [
      ['uni.example', true],
      ['93.184.216.34', true],
      ['172.32.0.1', true],
      ['[2001:db8::1]', true],
      ['localhost.example', true],
      ['localhost', false],
      ['a.localhost', false],
      ['printer.local', false],
      ['127.8.8.8', false],
      ['10.0.0.1', false],
      ['172.31.255.255', false],
      ['192.168.1.20:8079', false],
      ['169.254.1.1', false],
      ['[::1]', false],
      ['[fd00::1]', false],
    ] as const) {
      const { warnings } = read({ baseUrl: `http://${host}` })
      expect([host, warnings]).toEqual([host, warns ? [expect.stringMatching(/^baseUrl: http without TLS/)] : []])
    }
  })

  it('warns of an http address where the service speaks https', () => {
    const tls = { keyFile: 'key.pem', certificateFiles: ['chained.pem', 'middle.pem'] }
    const warning = 'tls: the service speaks https, and baseUrl says http; write the baseUrl that clients use'
    expect(read({ tls, baseUrl: 'http://192.168.1.5:8079' }).warnings).toContain(warning)
    expect(read({ tls, baseUrl: 'https://192.168.1.5:8079' }).warnings).not.toContain(warning)
  })

  it('refuses API keys that nobody can send, and tells labels, never keys', () => {
    const authentication = { 'my secret': 'with a space', schlüssel: 'not ASCII', '': 'empty', 'a\u0000': 'zero' }
    const mistakes = mistakesOf({ integrations: { authentication } })
    expect(mistakes).toHaveLength(4)
    for (const [at, label] of Object.values(authentication).entries()) expect(mistakes[at]).toContain(label)
    expect(mistakes.join('')).not.toMatch(/my secret|schlüssel/)
    expect(mistakesOf({ integrations: { authentication: {} } })).toEqual([expect.stringMatching(/no API key/)])
  })

  it('refuses a key without a label, and shows a label that may be the key itself by its beginning', () => {
    const secret = 'k9'.repeat(32)
    const authentication = { 'first application': secret, short: secret, [KEY]: '' }
    const { warnings } = read({ integrations: { authentication: { short: secret } } })
    const mistakes = mistakesOf({ integrations: { authentication } })
    expect(mistakes).toEqual([
      expect.stringMatching(/a key has an empty label; name who has the key/),
      expect.stringMatching(/the key labelled k9k9k9k9… \(are key and label the wrong way round\?\) cannot be sent/),
    ])
    expect(JSON.stringify([mistakes, warnings])).not.toContain(secret)
  })

  it('tells the place of a label that is not text, and not its key', () => {
    const mistakes = mistakesOf({ integrations: { authentication: { [KEY]: 'a', 'sec/re~t': 5 } } })
    expect(mistakes).toEqual(['integrations.authentication.(label 2): must be a string'])
  })

  it('warns of a short key by its label', () => {
    expect(read({ integrations: { authentication: { short: 'shop', [KEY]: 'desk' } } }).warnings).toEqual([
      'integrations.authentication: the key labelled shop is short; use 64 random characters',
    ])
  })

  it.each([
    { port: -1 },
    { port: 65_536 },
    { port: 1.5 },
    { port: '80' },
    { clockSkewSeconds: 601 },
    { host: 1 },
    { baseUrl: 1 },
  ])('refuses %j', (setting) => {
    expect(mistakesOf(setting)).toEqual([expect.stringMatching(new RegExp(`^${Object.keys(setting)[0]}: must be`))])
  })
})
