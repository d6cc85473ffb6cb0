import { createPublicKey } from 'node:crypto'
import { beforeAll, describe, expect, it } from 'vitest'
import {
  filesOf,
  ISSUER_URL,
  makeKey,
  type Services,
  settings,
  startServices,
  VERIFIER_URL,
} from '../../test/support/services.ts'
import { writeOctetString, writeSequence } from '../codec/der.ts'
import { makeSelfSignedCertificate, toPem } from '../keys/make-certificate.ts'
import { readVerifierConfig } from '../verifier/config.ts'
import { readIssuerConfig } from './config.ts'

let services: Services
let expired: string
beforeAll(async () => {
  services = await startServices()
  const key = await makeKey()
  const times = { notBefore: new Date('2019-01-01T00:00:00Z'), notAfter: new Date('2020-01-01T00:00:00Z') }
  const content = { privateKey: key, publicKey: createPublicKey(key), commonName: 'Old', serial: Buffer.of(1) }
  expired = toPem(makeSelfSignedCertificate({ ...content, ...times }))
  return () => services.close()
})
const now = new Date()
const mistakesOf = (result: object): readonly string[] => ('mistakes' in result ? (result.mistakes as string[]) : [])

describe('the settings of the issuer alone', () => {
  const read = (issuer: unknown) =>
    mistakesOf(readIssuerConfig({ ...settings('issuer', ISSUER_URL), issuer }, filesOf(services.files), now))

  it.each([
    [undefined, ['issuer: required']],
    [{}, ['issuer.display: required', 'issuer.id: required']],
    [{ id: 'a', display: {} }, ['issuer.display.name: required']],
    [{ id: '', display: { name: '' } }, ['issuer.display.name: must not be empty', 'issuer.id: must not be empty']],
    [{ id: 'a', display: { name: 'b', logo: 'c' } }, ['issuer.display.logo: unknown']],
    [{ id: 'a', display: { name: 'b' }, name: 'c' }, ['issuer.name: unknown']],
    [{ id: 'a', display: { name: 'b', locale: 'en_GB' } }, ['issuer.display.locale: it is not a language tag']],
    [
      { id: 'a', display: { name: 'b', locale: 'de', translations: [{ name: 'c', locale: 'DE' }] } },
      ['issuer.display.translations\\[0\\].locale: this language is there already'],
    ],
    [{ id: 'a', display: { name: ' ' } }, ['issuer.display.name: it must not be blank']],
    [
      { id: 'a', display: { name: 'b', translations: [{ name: '\u00a0', locale: 'de' }] } },
      ['issuer.display.translations\\[0\\].name: it must not be blank'],
    ],
    [{ id: 'a', display: { name: 'b', translations: [{ name: 'c' }] } }, ['issuer.display.translations.*: required']],
    [{ id: 1, display: 'b' }, ['issuer.display: must be an object', 'issuer.id: must be a string']],
  ])('refuses %j', (issuer, mistakes) => {
    const found = [...read(issuer)].sort()
    expect(found).toEqual(mistakes.map((mistake) => expect.stringMatching(new RegExp(`^${mistake}`)) as string))
  })

  it('refuses another identifier than session or base', () => {
    const mistakes = read({ id: 'a', display: { name: 'b' }, identifier: 'url' })
    expect(mistakes.length).toBeGreaterThan(0)
    for (const mistake of mistakes) expect(mistake).toMatch(/^issuer\.identifier: /)
  })

  it('warns when the certificate is made for another name than issuer.id', () => {
    const warningsOf = (id: string) => {
      const value = { ...settings('issuer', ISSUER_URL), issuer: { id, display: { name: 'b' } } }
      const result = readIssuerConfig(value, filesOf(services.files), now)
      return 'warnings' in result ? result.warnings.filter((warning) => warning.startsWith('issuer.id')) : undefined
    }
    expect(warningsOf(ISSUER_URL)).toEqual([])
    const warning = /^issuer\.id: .*; verifiers that compare the two refuse what it signs$/
    expect(warningsOf('https://other.example')).toEqual([expect.stringMatching(warning)])
  })

  it.each([
    ['http://localhost:8079', 'https://issuer.example', 1],
    ['http://localhost:8079', 'http://127.0.0.1:8079', 0],
    ['https://issuer.example', 'https://issuer.example', 0],
    ['did:web:localhost', 'https://issuer.example', 0],
  ])('warns of an identifier that is this machine alone: %s at %s', (id, baseUrl, count) => {
    const value = { ...settings('issuer', ISSUER_URL), baseUrl, issuer: { id, display: { name: 'An issuer' } } }
    const result = readIssuerConfig(value, filesOf(services.files), now)
    const warnings = 'warnings' in result ? result.warnings : []
    const expected = [expect.stringContaining(`set it, and its certificate, to ${baseUrl}`)].slice(0, count)
    expect(warnings.filter((warning) => warning.includes('this machine;'))).toEqual(expected)
  })

  const readWith = (more: object) =>
    readIssuerConfig({ ...settings('issuer', ISSUER_URL), ...more }, filesOf(services.files), now)

  it('takes all algorithms of wallets that it can verify, or those of the setting', () => {
    const all = ['ES256', 'ES384', 'ES512', 'EdDSA', 'Ed25519']
    expect(readWith({})).toMatchObject({ config: { proofAlgorithms: all, tokenAlgorithms: all } })
    const few = ['EdDSA', 'ES256']
    const narrowed = readWith({ walletAlgorithms: few })
    expect(narrowed).toMatchObject({ config: { proofAlgorithms: few, tokenAlgorithms: few } })
  })

  it.each([[[]], [['ES256', 'ES256']], [['RS256']], ['ES256'], [[256]]])(
    'refuses %j as algorithms of wallets',
    (walletAlgorithms) => {
      const mistakes = mistakesOf(readWith({ walletAlgorithms }))
      expect(mistakes.length).toBeGreaterThan(0)
      for (const mistake of mistakes) expect(mistake).toMatch(/^walletAlgorithms(\[0\])?: /)
    },
  )

  it('wants a nonce in each DPoP proof unless it is optional', () => {
    expect(readWith({})).toMatchObject({ config: { dpopNonceRequired: true } })
    expect(readWith({ dpopNonce: 'required' })).toMatchObject({ config: { dpopNonceRequired: true } })
    expect(readWith({ dpopNonce: 'optional' })).toMatchObject({ config: { dpopNonceRequired: false } })
    expect(mistakesOf(readWith({ dpopNonce: 'never' }))).toEqual([expect.stringMatching(/^dpopNonce: /)])
  })

  it('refuses the settings of the verifier', () => {
    const value = { ...settings('issuer', ISSUER_URL), clientMetadata: {}, issuerTrustAnchors: 'anchors' }
    expect([...mistakesOf(readIssuerConfig(value, filesOf(services.files), now))].sort()).toEqual([
      'clientMetadata: unknown setting or field',
      'issuerTrustAnchors: unknown setting or field',
    ])
  })
})

describe('authorizationServer', () => {
  const read = (authorizationServer: unknown) =>
    readIssuerConfig({ ...settings('issuer', ISSUER_URL), authorizationServer }, filesOf(services.files), now)
  const issuer = 'https://login.example'
  const introspection = { clientId: 'a', clientSecret: 'b' }

  it.each([
    [{}, ['authorizationServer.issuer: required']],
    ['https://login.example', ['authorizationServer: must be an object']],
    [{ issuer: 'login.example' }, ['authorizationServer.issuer: it is not a URL']],
    [{ issuer: 'http://login.example' }, ['authorizationServer.issuer: it must begin with https://']],
    [{ issuer: 'ftp://login.example' }, ['authorizationServer.issuer: it must begin with https://']],
    [{ issuer: 'https://a:b@login.example' }, ['authorizationServer.issuer: it must not contain a user']],
    [{ issuer: `${issuer}?a=b` }, ['authorizationServer.issuer: it must have no query']],
    [{ issuer: `${issuer}#a` }, ['authorizationServer.issuer: it must have no query']],
    [{ issuer, jwksUri: 'http://login.example/jwks' }, ['authorizationServer.jwksUri: it must begin with https://']],
    [{ issuer, jwks: {} }, ['authorizationServer.jwks: unknown']],
    [{ issuer, audience: '' }, ['authorizationServer.audience: must not be empty']],
    [{ issuer, sessionClaim: '' }, ['authorizationServer.sessionClaim: must not be empty']],
    [{ issuer, sessionClaim: 'aud' }, ['authorizationServer.sessionClaim: aud has a meaning of its own']],
    [
      { issuer, introspection: {} },
      ['clientId: required', 'clientSecret: required'].map((m) => `authorizationServer.introspection.${m}`),
    ],
    [
      { issuer, introspection: { ...introspection, endpoint: 'a' } },
      ['authorizationServer.introspection.endpoint: it is not a URL'],
    ],
  ])('refuses %j', (value, mistakes) => {
    const found = [...mistakesOf(read(value))].sort()
    expect(found).toEqual(mistakes.map((mistake) => expect.stringContaining(mistake) as string))
  })

  it('is told together with every other mistake', () => {
    const value = { ...settings('issuer', ISSUER_URL), authorizationServer: { issuer: 'a' }, prot: 1 }
    const mistakes = mistakesOf(readIssuerConfig(value, filesOf(services.files), now))
    expect(mistakes.map((mistake) => mistake.split(':')[0]).sort()).toEqual(['authorizationServer.issuer', 'prot'])
  })

  it('is the service itself when there is none', () => {
    const result = readIssuerConfig(settings('issuer', ISSUER_URL), filesOf(services.files), now)
    expect('config' in result && result.config.authorizationServer).toBeUndefined()
  })

  it.each(['https://login.example/tenant', 'http://localhost:3000', 'http://10.0.0.1'])('may be %s', (address) => {
    const result = read({ issuer: address, introspection })
    const config = 'config' in result ? result.config.authorizationServer : undefined
    const claims = { sessionClaim: 'pre-authorized_code', issuerStateClaim: 'issuer_state' }
    expect(config).toEqual({ issuer: address, ...claims, introspection })
  })
})

describe('the authentication of wallets', () => {
  const texts = () => new Map([...services.files, ['providers/a.pem', services.files.get('verifier.pem') ?? '']])
  const read = (more: object) => readIssuerConfig({ ...settings('issuer', ISSUER_URL), ...more }, filesOf(texts()), now)
  const authenticationOf = (more: object) => {
    const result = read(more)
    return 'config' in result ? result.config.clientAuthentication : result.mistakes
  }

  it('is off without anchors, and required where the setting says so', () => {
    expect(authenticationOf({})).toBe(undefined)
    const one = [expect.objectContaining({ subjectText: 'CN=verifier.localhost' }) as object]
    const optional = { anchors: one, required: false, challengeRequired: true }
    expect(authenticationOf({ walletProviderTrustAnchors: 'providers' })).toEqual(optional)
    expect(authenticationOf({ walletProviderTrustAnchors: 'providers', walletAttestation: 'optional' })).toEqual(
      optional,
    )
    expect(authenticationOf({ walletProviderTrustAnchors: 'providers', walletAttestation: 'required' })).toEqual({
      anchors: one,
      required: true,
      challengeRequired: true,
    })
  })

  it('takes proofs without a challenge where the setting says so', () => {
    const challengeOf = (attestationChallenge: string) =>
      authenticationOf({ walletProviderTrustAnchors: 'providers', attestationChallenge })
    expect(challengeOf('required')).toMatchObject({ challengeRequired: true })
    expect(challengeOf('optional')).toMatchObject({ challengeRequired: false })
  })

  it('is refused where nobody could be trusted, and where another server gives the tokens', () => {
    expect(mistakesOf(read({ walletAttestation: 'required' }))).toEqual([
      expect.stringMatching(/^walletAttestation: needs walletProviderTrustAnchors/),
    ])
    expect(mistakesOf(read({ attestationChallenge: 'optional' }))).toEqual([
      expect.stringMatching(/^attestationChallenge: needs walletProviderTrustAnchors/),
    ])
    const authorizationServer = { issuer: 'https://as.example' }
    expect(mistakesOf(read({ walletProviderTrustAnchors: 'providers', authorizationServer }))).toEqual([
      expect.stringMatching(/^walletProviderTrustAnchors: goes without authorizationServer/),
    ])
  })
})

describe.each(['issuer', 'verifier'] as const)('the registration certificate of the %s', (service) => {
  const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')
  const read = (text: string, registrationCertificateFile = 'registration.jwt') => {
    const value = {
      ...settings(service, service === 'issuer' ? ISSUER_URL : VERIFIER_URL),
      registrationCertificateFile,
    }
    const files = filesOf(new Map([...services.files, ['registration.jwt', text]]))
    return service === 'issuer' ? readIssuerConfig(value, files, now) : readVerifierConfig(value, files, now)
  }

  it('is a JWT in a file, and is warned of when it is over', () => {
    const jwt = `${part({ alg: 'ES256' })}.${part({ exp: 1_577_836_800 })}.AA`
    const result = read(` ${jwt}\n`)
    expect(result).toMatchObject({ config: { registrationCertificate: jwt } })
    expect('warnings' in result && result.warnings).toContainEqual(
      expect.stringMatching(/^registrationCertificateFile: it expired on 2020-01-01/),
    )
  })

  it('is refused when it is none, too long or not there', () => {
    expect(mistakesOf(read('Dear reader'))).toEqual([expect.stringMatching(/^registrationCertificateFile: .* no JWT/)])
    expect(mistakesOf(read('x'.repeat(65_537)))).toEqual([expect.stringMatching(/longer than 64 KiB/)])
    expect(mistakesOf(read('', 'nowhere'))).toEqual(['registrationCertificateFile: there is no such file: nowhere'])
  })
})

describe('the revocation list of the CA', () => {
  const read = (text: string, revocationListFile = 'ca.crl') => {
    const value = { ...settings('issuer', ISSUER_URL), revocationListFile }
    return readIssuerConfig(value, filesOf(new Map([...services.files, ['ca.crl', text]])), now)
  }
  const pem = (body: string) => `-----BEGIN X509 CRL-----\n${body}\n-----END X509 CRL-----\n`

  it('is a file in PEM', () => {
    const revocationList = { parts: [Buffer.from('3003020101', 'hex')] }
    expect(read(pem('MAMC\nAQE='))).toMatchObject({ config: { revocationList } })
  })

  it('may have many certificates', () => {
    const list = writeSequence(writeOctetString(Buffer.alloc(100_000)))
    expect(read(pem(list.toString('base64')))).toMatchObject({ config: { revocationList: { parts: [list] } } })
    const larger = writeSequence(writeOctetString(Buffer.alloc(5_000_000)))
    expect(mistakesOf(read(pem(larger.toString('base64'))))).toEqual([expect.stringMatching(/the DER is larger than/)])
  })

  it('is refused when it is none or not there', () => {
    for (const text of ['', 'Dear reader', pem('?'), pem(''), pem('MAMCAQ=='), pem('AgEB'), pem('MAMCAQEA')]) {
      expect(mistakesOf(read(text))).toEqual([
        expect.stringMatching(/^revocationListFile: ca\.crl holds no revocation list in PEM: /),
      ])
    }
    const reason = 'ca.crl holds no revocation list in PEM: its END line is missing'
    expect(mistakesOf(read('-----BEGIN X509 CRL-----\nMAMCAQE='))).toEqual([`revocationListFile: ${reason}`])
    expect(mistakesOf(read('', 'nowhere'))).toEqual(['revocationListFile: there is no such file: nowhere'])
  })
})

describe('the trust anchors of key attestations', () => {
  const read = (texts: Readonly<Record<string, string>>, at = now) => {
    const value = { ...settings('issuer', ISSUER_URL), keyAttestationTrustAnchors: 'attesters' }
    return readIssuerConfig(value, filesOf(new Map([...services.files, ...Object.entries(texts)])), at)
  }
  const pem = () => services.files.get('verifier.pem') ?? ''

  it('are every certificate in the directory, or none when there is no such setting', () => {
    const texts = { 'attesters/a.pem': pem() + pem(), 'attesters/b.crt': pem(), 'attesters/readme.txt': 'Dear reader' }
    const result = read(texts)
    expect('config' in result && result.config.keyAttestationTrustAnchors).toHaveLength(3)
    const without = readIssuerConfig(settings('issuer', ISSUER_URL), filesOf(services.files), now)
    expect('config' in without && without.config.keyAttestationTrustAnchors).toEqual([])
  })

  it('are refused when they cannot be read, together with every other mistake', () => {
    const value = { ...settings('issuer', ISSUER_URL), keyAttestationTrustAnchors: 'bad', prot: 1 }
    const texts = new Map([...services.files, ['bad/a.pem', 'Dear reader']])
    expect([...mistakesOf(readIssuerConfig(value, filesOf(texts), now))].sort()).toEqual([
      'keyAttestationTrustAnchors: a.pem: it holds no PEM certificate',
      'prot: unknown setting or field; did you mean port?',
    ])
    expect(
      mistakesOf(readIssuerConfig({ ...value, keyAttestationTrustAnchors: 5, prot: undefined }, filesOf(texts), now)),
    ).toContain('keyAttestationTrustAnchors: must be a string')
  })

  it('are warned of when they are over', () => {
    const result = readIssuerConfig(
      { ...settings('issuer', ISSUER_URL), keyAttestationTrustAnchors: 'attesters' },
      filesOf(new Map([...services.files, ['attesters/a.pem', expired], ['attesters/b.pem', pem()]])),
      now,
    )
    expect('warnings' in result && result.warnings).toContainEqual(
      expect.stringMatching(/^keyAttestationTrustAnchors: CN=Old expired on 2020-01-01/),
    )
  })
})

describe('the settings of the verifier alone', () => {
  const read = (changes: object) =>
    readVerifierConfig({ ...settings('verifier', VERIFIER_URL), ...changes }, filesOf(services.files), now)

  it('warns when it trusts nobody', () => {
    const { issuerTrustAnchors, ...none } = settings('verifier', VERIFIER_URL) as Record<string, unknown>
    expect(issuerTrustAnchors).toBe('anchors')
    const result = readVerifierConfig(none, filesOf(services.files), now)
    expect(result).toMatchObject({
      warnings: [
        expect.stringMatching(/self-signed/),
        expect.stringMatching(/^issuerTrustAnchors: not configured, so that any certificate will do/),
      ],
    })
    expect('config' in result && result.config.trustAnchors).toBe(undefined)
  })

  it.each<[string, Record<string, string>, RegExp]>([
    ['is not there, or is empty', {}, /^issuerTrustAnchors: there is no certificate in place \(files that end in /],
    ['has no file of a known ending', { 'place/a.der': 'x', 'place/README': 'x' }, /there is no certificate in place/],
    [
      'has certificates that are over alone',
      { 'place/a.pem': 'expired' },
      /none of the certificates in place can be used: /,
    ],
  ])('refuses to start where the directory of anchors %s', (_, more, mistake) => {
    const pems = Object.entries(more).map(([name, text]) => [name, text === 'expired' ? expired : text] as const)
    const texts = new Map([...services.files, ...pems])
    const value = { ...settings('verifier', VERIFIER_URL), issuerTrustAnchors: 'place' }
    expect(mistakesOf(readVerifierConfig(value, filesOf(texts), now))).toEqual([expect.stringMatching(mistake)])
    const attesters = { ...settings('issuer', ISSUER_URL), keyAttestationTrustAnchors: 'place' }
    expect(mistakesOf(readIssuerConfig(attesters, filesOf(texts), now))).toEqual([
      expect.stringMatching(/^keyAttestationTrustAnchors: /),
    ])
    const providers = { ...settings('issuer', ISSUER_URL), walletProviderTrustAnchors: 'place' }
    expect(mistakesOf(readIssuerConfig(providers, filesOf(texts), now))).toEqual([
      expect.stringMatching(/^walletProviderTrustAnchors: /),
    ])
  })

  it('refuses anchors that cannot be read, together with every other mistake', () => {
    const texts = new Map([...services.files, ['bad/a.pem', 'Dear reader']])
    const value = { ...settings('verifier', VERIFIER_URL), issuerTrustAnchors: 'bad', prot: 1 }
    expect([...mistakesOf(readVerifierConfig(value, filesOf(texts), now))].sort()).toEqual([
      expect.stringMatching(/^issuerTrustAnchors: /),
      'prot: unknown setting or field; did you mean port?',
    ])
    const unreadable = {
      ...filesOf(services.files),
      list: () => {
        throw new Error('no')
      },
    }
    expect(mistakesOf(readVerifierConfig(settings('verifier', VERIFIER_URL), unreadable, now))).toEqual([
      expect.stringMatching(/^issuerTrustAnchors: the directory cannot be read/),
    ])
  })

  it.each([
    [{ clientMetadata: { client_name: 'a' } }, /^clientMetadata\.client_name: unknown/],
    [{ clientMetadata: { clientName: 1 } }, /^clientMetadata\.clientName: must be a string/],
    [{ presentationBytes: 1 }, /^presentationBytes: must be at least 16384/],
    [{ presentationBytes: 2 ** 21 }, /^presentationBytes: must be at most 1048576/],
    [{ requestLifetimeSeconds: 0 }, /^requestLifetimeSeconds: must be at least 1/],
    [{ issuer: { id: 'a' } }, /^issuer: unknown/],
  ])('refuses %j', (changes, mistake) => {
    expect(mistakesOf(read(changes))).toEqual([expect.stringMatching(mistake)])
  })
})

describe('the settings of status lists', () => {
  const read = (statusList: unknown) =>
    readIssuerConfig({ ...settings('issuer', ISSUER_URL), statusList }, filesOf(services.files), now)

  it.each([
    [undefined, { entries: 131_072, ttlSeconds: 300 }],
    [{}, { entries: 131_072, ttlSeconds: 300 }],
    [{ entries: 1024 }, { entries: 1024, ttlSeconds: 300 }],
    [
      { entries: 1_048_576, ttlSeconds: 1 },
      { entries: 1_048_576, ttlSeconds: 1 },
    ],
    [{ ttlSeconds: 86_400 }, { entries: 131_072, ttlSeconds: 86_400 }],
  ])('read %j', (statusList, expected) => {
    expect(read(statusList)).toMatchObject({ config: { statusList: expected } })
  })

  it.each([
    [{ entries: 1000 }, /^statusList\.entries: must be a power of two from 1024 to 1048576$/],
    [{ entries: 512 }, /^statusList\.entries: must be a power of two/],
    [{ entries: 2_097_152 }, /^statusList\.entries: must be a power of two/],
    [{ entries: 131_073 }, /^statusList\.entries: must be a power of two/],
    [{ entries: 0 }, /^statusList\.entries: must be a power of two/],
    [{ entries: -1024 }, /^statusList\.entries: must be a power of two/],
    [{ entries: 1024.5 }, /^statusList\.entries: must be an integer/],
    [{ entries: '1024' }, /^statusList\.entries: must be an integer; write it without quotation marks/],
    [{ ttlSeconds: 0 }, /^statusList\.ttlSeconds: /],
    [{ ttlSeconds: 86_401 }, /^statusList\.ttlSeconds: /],
    [{ ttl: 60 }, /^statusList\.ttl: unknown/],
    [[], /^statusList: must be an object/],
  ])('refuse %j', (statusList, mistake) => {
    expect(mistakesOf(read(statusList))).toEqual([expect.stringMatching(mistake)])
  })
})
