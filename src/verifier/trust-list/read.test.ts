/** Lists that are right but for one thing, and what is read of them. */
import { beforeAll, describe, expect, it } from 'vitest'
import {
  type Authority,
  type CertificateOptions,
  certify,
  makeAuthority,
  signWith,
} from '../../../test/support/forge.ts'
import { makeKey } from '../../../test/support/services.ts'
import {
  type ListChange,
  type ListSigner,
  makeListSigner,
  makeTrustList,
  PID_LIST,
  serviceOf,
  trustListConfig,
} from '../../../test/support/trust-list.ts'
import { toBase64url } from '../../codec/base64url.ts'
import type { JsonObject } from '../../codec/json.ts'
import { MalformedError } from '../../codec/malformed.ts'
import type { TrustListConfig } from '../../config/trust-lists.ts'
import { writeName } from '../../keys/certificate-name.ts'
import { EXTENDED_KEY_USAGE } from '../../keys/certificate-purpose.ts'
import { readTrustList } from './read.ts'

const AT = new Date()
const time = { at: AT, clockSkewSeconds: 60 }
const inMinutes = (count: number): string => new Date(AT.getTime() + count * 60_000).toISOString()
let signer: ListSigner
let provider: Authority
let setting: TrustListConfig
beforeAll(async () => {
  signer = await makeListSigner()
  provider = await makeAuthority('PID CA')
  setting = trustListConfig(signer.der)
})

function listWith(change?: ListChange): Promise<string> {
  return makeTrustList(signer, [provider.der], AT, change)
}

const header =
  (members: JsonObject): ListChange =>
  (parts) =>
    void Object.assign(parts.header, members)
const scheme =
  (members: JsonObject): ListChange =>
  (parts) =>
    void Object.assign(parts.scheme, members)
const without =
  (part: 'header' | 'scheme', name: string): ListChange =>
  (parts) =>
    void Reflect.deleteProperty(parts[part], name)
const service =
  (members: JsonObject): ListChange =>
  ({ services }) =>
    void services.splice(0, 1, serviceOf([provider.der], members))

function problemOf(text: string, by = setting, at = AT): string {
  try {
    readTrustList(text, by, { ...time, at })
  } catch (error) {
    if (error instanceof MalformedError) return error.message
    throw error
  }
  return 'taken'
}

/** Returns the problem of a list whose signer has a certificate below that of the setting. */
async function problemBelow(options: CertificateOptions): Promise<string> {
  const operator = await makeAuthority('Scheme CA')
  const below = certify(operator, signer.key, { name: writeName([['CN', 'List signer']]), ...options })
  const text = await listWith(({ header: members }) => {
    Object.assign(members, { x5c: [below.toString('base64')] })
    Reflect.deleteProperty(members, 'x5t#S256')
  })
  return problemOf(text, trustListConfig(operator.der))
}

describe('a list is taken', () => {
  it('with its number, its times and its certificates', async () => {
    const { certificates, ...rest } = readTrustList(await listWith(), setting, time)
    expect(certificates).toEqual([provider.der])
    expect(rest).toEqual({
      sequenceNumber: 7,
      issuedAt: new Date(Math.floor(AT.getTime() / 1000) * 1000),
      nextUpdate: new Date(Math.floor(AT.getTime() / 1000) * 1000 + 86_400_000),
    })
  })

  it.each<[string, ListChange]>([
    ['of the type that JAdES has', header({ typ: 'JAdES' })],
    ['of the type that libraries for lists have', header({ typ: 'trustlist+jwt' })],
    ['of a whole media type', header({ typ: 'application/jose' })],
    ['without a type', without('header', 'typ')],
    ['without the time of its signature', without('header', 'iat')],
    ['without the digest of the certificate', without('header', 'x5t#S256')],
    ['without x5c, by a signer of the setting', without('header', 'x5c')],
    ['with a critical time of the signature', header({ sigT: inMinutes(0), crit: ['sigT'] })],
    ['with a payload that is said to be base64url', header({ b64: true, crit: ['b64'] })],
    [
      'without the object around it',
      (parts) => {
        parts.payloadOf = (list) => list
      },
    ],
    ['with times in another zone', scheme({ ListIssueDateTime: '2026-01-01T00:00:00.5+01:00' })],
    ['of a time that another clock shows already', scheme({ ListIssueDateTime: inMinutes(1) })],
    ['that has ended, of which the caller decides', scheme({ NextUpdate: inMinutes(-10) })],
  ])('%s', async (_, change) => {
    expect(problemOf(await listWith(change))).toBe('taken')
  })

  it('of a signer below a certificate of the setting', async () => {
    expect(await problemBelow({})).toBe('taken')
  })

  it('of a signer whose certificate may sign certificates alone, since the setting has it', async () => {
    const operator = await makeAuthority('Scheme CA')
    expect(problemOf(await makeTrustList(operator, [provider.der], AT), trustListConfig(operator.der))).toBe('taken')
  })

  it('of a signer whose certificate was valid when the list was fetched, and not later', async () => {
    const key = await makeKey()
    const name = writeName([['CN', 'List signer']])
    const der = certify({ name, key }, key, { name, until: -1 })
    const fetchedAt = new Date(AT.getTime() - 2 * 86_400_000)
    const text = await makeTrustList({ key, der }, [provider.der], fetchedAt)
    expect(problemOf(text, trustListConfig(der), fetchedAt)).toBe('taken')
    expect(problemOf(text, trustListConfig(der))).toMatch(/expired on/)
  })
})

describe('a list is refused', () => {
  it.each<[string, ListChange, RegExp]>([
    [
      'by another key',
      async (parts) => void Object.assign(parts, { key: await makeKey() }),
      /its signature does not hold/,
    ],
    ['without a signature', header({ alg: 'none' }), /its algorithm \(alg\) is none/],
    ['with a secret in place of a key', header({ alg: 'HS256' }), /its algorithm \(alg\) is HS256/],
    ['of another algorithm', header({ alg: 'ES384' }), /its algorithm \(alg\) is ES384/],
    ['with the digest of another certificate', header({ 'x5t#S256': 'AAAA' }), /x5t#S256 is not that/],
    ['with no certificates in x5c', header({ x5c: [] }), /x5c is empty/],
    ['of another type of token', header({ typ: 'statuslist+jwt' }), /its type \(typ\) is not that of a list/],
    ['with a type that is no text', header({ typ: 7 }), /its type \(typ\) is not that of a list/],
    ['with a payload that is not encoded', header({ b64: false, crit: ['b64'] }), /not in base64url \(b64\)/],
    ['with an extension that is not understood', header({ sigD: {}, crit: ['sigD'] }), /critical extension sigD/],
    ['with a critical name that is not there', header({ crit: ['sigT'] }), /crit names what is not in the header/],
    [
      'with a critical name beside one that is understood',
      header({ sigT: inMinutes(0), x: 1, crit: ['sigT', 'x'] }),
      /critical extension x,/,
    ],
    [
      'with a critical name that is no text',
      header({ sigT: inMinutes(0), crit: ['sigT', 7] }),
      /is not a list of names/,
    ],
    ['with an empty list of critical names', header({ crit: [] }), /crit of the header is not a list of names/],
    ['signed in the future', header({ iat: AT.getTime() / 1000 + 90 }), /signed in the future \(iat\)/],
    ['signed at no time', header({ iat: '2026' }), /iat of its header is not a time/],
    ['signed in the future as JAdES says it', header({ sigT: inMinutes(2) }), /signed in the future \(sigT\)/],
    ['of another version', scheme({ LoTEVersionIdentifier: 2 }), /its LoTEVersionIdentifier is not 1/],
    [
      'of another type of list',
      scheme({ LoTEType: PID_LIST.replace('PID', 'Wallet') }),
      /its LoTEType is .*EUWalletProvidersList, not .*EUPIDProvidersList/,
    ],
    ['of no type of list', without('scheme', 'LoTEType'), /its LoTEType is absent/],
    ['without a number', without('scheme', 'LoTESequenceNumber'), /LoTESequenceNumber is not a positive integer/],
    ['with the number zero', scheme({ LoTESequenceNumber: 0 }), /LoTESequenceNumber is not a positive integer/],
    ['with half a number', scheme({ LoTESequenceNumber: 7.5 }), /LoTESequenceNumber is not a positive integer/],
    ['of the future', scheme({ ListIssueDateTime: inMinutes(2) }), /from the future \(ListIssueDateTime\)/],
    ['without an end', without('scheme', 'NextUpdate'), /its NextUpdate is not a time/],
    ['with an end that is not a time', scheme({ NextUpdate: '2026-02-30T00:00:00Z' }), /its NextUpdate is not a time/],
    ['without anything', (parts) => void Object.assign(parts, { payloadOf: () => ({}) }), /LoTEVersionIdentifier/],
  ])('%s', async (_, change, problem) => {
    expect(problemOf(await listWith(change))).toMatch(problem)
  })

  it('by a signer that the setting does not have, with its own certificate', async () => {
    const stranger = await makeListSigner()
    const text = await makeTrustList(stranger, [provider.der], AT)
    expect(problemOf(text)).toMatch(/its signer is not one of signerTrustAnchors: .* another certificate of that name/)
    const bareText = await makeTrustList(stranger, [provider.der], AT, without('header', 'x5c'))
    expect(problemOf(bareText)).toMatch(/comes without x5c, and no certificate/)
  })

  it('by the certificate of a web server below the certificate of the setting', async () => {
    const purposes = { purposes: [EXTENDED_KEY_USAGE.tlsServer], isCritical: false }
    expect(await problemBelow(purposes)).toMatch(/is that of a TLS server/)
  })

  it('by a certificate below that of the setting whose key is not for signatures', async () => {
    expect(await problemBelow({ usages: ['keyAgreement'] })).toMatch(/does not allow digitalSignature/)
  })

  it.each<[string, string, RegExp]>([
    ['no token', '<html></html>', /three parts/],
    ['nothing', '', /three parts/],
    ['a token that is not JSON', 'AAAA.AAAA.AAAA', /the header: it is not/],
  ])('where %s was fetched', (_, text, problem) => {
    expect(problemOf(text)).toMatch(problem)
  })

  it('that nobody signed, before any of it is parsed', async () => {
    const [head, , signature] = (await listWith()).split('.')
    expect(problemOf(`${head}.${toBase64url('{"LoTE":')}.${signature}`)).toMatch(/its signature does not hold/)
  })

  it('nested deeper than any list is', async () => {
    const deep = `${'['.repeat(40)}${']'.repeat(40)}`
    const [head = ''] = (await listWith()).split('.')
    const signed = `${head}.${toBase64url(`{"LoTE":${deep}}`)}`
    const text = `${signed}.${toBase64url(await signWith(signer.key)(Buffer.from(signed)))}`
    expect(problemOf(text)).toMatch(/nested deeper than 32/)
  })
})

describe('a certificate counts', () => {
  const counted = async (change: ListChange): Promise<number> =>
    readTrustList(await listWith(change), setting, time).certificates.length

  it.each<[string, ListChange, number]>([
    [
      'of a service that was notified',
      service({ ServiceStatus: 'http://uri.etsi.org/19602/PubEAAProvidersList/SvcStatus/notified' }),
      1,
    ],
    [
      'of a service that was granted',
      service({ ServiceStatus: 'http://uri.etsi.org/TrstSvc/TrustedList/Svcstatus/granted' }),
      1,
    ],
    ['of a service of a state that began', service({ StatusStartingTime: inMinutes(-5) }), 1],
    [
      'of a service with an extension that may be passed over',
      service({ ServiceInformationExtensions: [{ Critical: false }, 7] }),
      1,
    ],
    [
      'of a service with an identifier',
      service({ ServiceInformationExtensions: [{ Critical: true, ServiceUniqueIdentifier: 'x' }] }),
      1,
    ],
    [
      'of no service that was withdrawn',
      service({ ServiceStatus: 'http://uri.etsi.org/19602/PubEAAProvidersList/SvcStatus/withdrawn' }),
      0,
    ],
    ['of no service that was revoked', service({ ServiceStatus: 'http://uri.etsi.org/TrstSvc/Svcstatus/revoked' }), 0],
    ['of no service whose state is a word that ends like it', service({ ServiceStatus: 'urn:not-granted' }), 0],
    ['of no service whose state is a word that begins like it', service({ ServiceStatus: 'urn:x/granted-once' }), 0],
    ['of no service whose state is no text', service({ ServiceStatus: 7 }), 0],
    ['of no service of a state that begins later', service({ StatusStartingTime: inMinutes(5) }), 0],
    ['of no service of a state that begins at no time', service({ StatusStartingTime: 'soon' }), 0],
    [
      'of no service with an extension that must be understood',
      service({ ServiceInformationExtensions: [{ Critical: true, AuthoritativeFor: {} }] }),
      0,
    ],
    [
      'of no service that revokes',
      service({ ServiceTypeIdentifier: 'http://uri.etsi.org/19602/SvcType/PID/Revocation' }),
      0,
    ],
    [
      'of no service that issues wallets',
      service({ ServiceTypeIdentifier: 'http://uri.etsi.org/19602/SvcType/WalletSolution/Issuance' }),
      0,
    ],
    ['of no service without a kind', service({ ServiceTypeIdentifier: 7 }), 0],
    ['of no service without certificates', service({ ServiceDigitalIdentity: { X509SKIs: ['AAAA'] } }), 0],
    ['only where it is base64', service({ ServiceDigitalIdentity: { X509Certificates: [{ val: '%' }, {}, 7] } }), 0],
    ['of no service at all', ({ services }) => void services.splice(0), 0],
  ])('%s', async (_, change, count) => {
    expect(await counted(change)).toBe(count)
  })

  it.each(['WalletSolution', 'WRPAC', 'WRPRC'])(
    'of no service of %s in a list of another type either',
    async (kind) => {
      const own = 'http://trust.example/lists/national'
      const text = await listWith(({ scheme: members, services }) => {
        Object.assign(members, { LoTEType: own })
        const type = `http://uri.etsi.org/19602/SvcType/${kind}/Issuance`
        services.splice(0, 1, serviceOf([provider.der], { ServiceTypeIdentifier: type }))
      })
      expect(readTrustList(text, trustListConfig(signer.der, own), time).certificates).toEqual([])
    },
  )

  it('of every service that issues, in a list of a type that no specification has', async () => {
    const own = 'http://trust.example/lists/mDL'
    const text = await listWith(({ scheme: members, services }) => {
      Object.assign(members, { LoTEType: own })
      services.splice(0, 1, serviceOf([provider.der], { ServiceTypeIdentifier: `${own}/SvcType/Issuance` }))
      services.push(serviceOf([provider.der], { ServiceTypeIdentifier: `${own}/SvcType/Revocation` }))
    })
    expect(readTrustList(text, trustListConfig(signer.der, own), time).certificates).toHaveLength(1)
  })
})
