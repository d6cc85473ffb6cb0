/**
 * Every way in which the status list of a good credential can say no, or say nothing that counts: one thing wrong,
 * signed again with the right keys. `status.valid` fails for the reason of the row, and everything else passes.
 */
import type { KeyObject } from 'node:crypto'
import { constants, deflateRawSync, deflateSync, gzipSync } from 'node:zlib'
import { afterAll, afterEach, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { toBase64url } from '../../src/codec/base64url.ts'
import { type Cbor, type CborKey, decodeCbor, encodeCbor, makeTagged } from '../../src/codec/cbor.ts'
import type { JsonObject } from '../../src/codec/json.ts'
import { writeName } from '../../src/keys/certificate-name.ts'
import { EXTENDED_KEY_USAGE } from '../../src/keys/certificate-purpose.ts'
import { toPem } from '../../src/keys/make-certificate.ts'
import {
  base64,
  bitstring,
  bitstringEntryAt,
  bitstringParts,
  type CwtParts,
  cwtParts,
  ENTRIES,
  entries,
  IDX,
  type ListParts,
  makeNetwork,
  mdocEntryAt,
  newListUri,
  signCwt,
  signList,
  tokenAt,
  tokenParts,
} from '../support/foreign-status.ts'
import {
  type Authority,
  certificateName,
  certify,
  makeAuthority,
  signWith,
  startWorld,
  type World,
  type WorldOptions,
} from '../support/forge.ts'
import { startMdocWorld } from '../support/mdoc.ts'
import { profiles, queryFor, usualProfile } from '../support/profiles.ts'
import { ISSUER_URL, makeKey } from '../support/services.ts'
import { present, statusOfCredential, statusOfMdoc, statusOutcome } from '../support/status-outcome.ts'
import { outcomesOf } from './attack.ts'

const documentSigner = [EXTENDED_KEY_USAGE.mdlDocumentSigner]
const network = makeNetwork()
let world: World
let mdocs: World
/** Another authority that is trusted as well, and one that nobody trusts. */
let second: Authority
let stranger: Authority
/** An authority that is trusted as well, and has the name of that of the issuer. */
let namesake: Authority
beforeAll(async () => {
  second = await makeAuthority('Second CA')
  stranger = await makeAuthority('Stranger CA')
  namesake = await makeAuthority('Example CA')
  world = await startWorld({ outbound: network.outbound, moreAnchors: [toPem(second.der), toPem(namesake.der)] })
  expect(namesake.name).toEqual(world.ca.name)
  mdocs = await startMdocWorld({ outbound: network.outbound, issuerPurposes: documentSigner })
})
afterAll(() => Promise.all([world.services.close(), mdocs.services.close()]))
afterEach(() => {
  network.requests.length = 0
  network.at.clear()
})

type Change<Parts> = (parts: Parts, uri: string) => void | Promise<void>

async function ofToken(change: Change<ListParts>, bytes = entries(IDX, 0)): Promise<string> {
  const uri = newListUri()
  const parts = tokenParts(world, uri, bytes)
  await change(parts, uri)
  network.at.set(uri, await signList(parts))
  return statusOfCredential(world, tokenAt(uri))
}

async function ofCwt(
  change: Change<CwtParts>,
  bytes = entries(IDX, 0),
  more: Record<string, Cbor> = {},
): Promise<string> {
  const uri = newListUri()
  const parts = cwtParts(mdocs, uri, bytes)
  await change(parts, uri)
  network.at.set(uri, await signCwt(parts))
  return statusOfMdoc(mdocs, mdocEntryAt(uri, more))
}

async function ofBitstring(change: Change<ListParts>, more: JsonObject = {}, bytes = bitstring(IDX, false)) {
  const uri = newListUri()
  const parts = bitstringParts(world, uri, bytes)
  await change(parts, uri)
  network.at.set(uri, await signList(parts))
  return statusOfCredential(world, { credentialStatus: bitstringEntryAt(uri, more) })
}

const same = () => undefined
const now = ({ services } = world): number => Math.floor(services.clock.now.getTime() / 1000)
const inList = (change: JsonObject): Change<ListParts> => {
  return ({ payload }) => void Object.assign(payload.status_list as JsonObject, change)
}
const inSubject = (change: JsonObject): Change<ListParts> => {
  return ({ payload }) => void Object.assign(payload.credentialSubject as JsonObject, change)
}
const claims =
  (change: () => JsonObject): Change<ListParts> =>
  ({ payload }) =>
    void Object.assign(payload, change())
const without =
  (...names: string[]): Change<ListParts> =>
  ({ payload }) => {
    for (const name of names) Reflect.deleteProperty(payload, name)
  }
const claim =
  (label: number, value: Cbor): Change<CwtParts> =>
  ({ claims: all }) =>
    void all.set(label, value)
const packed = (bytes: Uint8Array) => toBase64url(deflateSync(bytes))
/** A gigabyte, a megabyte on its way. */
let bombs: { readonly zlib: string; readonly gzip: string }
beforeAll(() => {
  const part = Buffer.alloc(64 * 1024 * 1024)
  const blocks = deflateRawSync(part, { finishFlush: constants.Z_FULL_FLUSH })
  const [zlib, gzip] = [
    [Buffer.from([0x78, 0xda]), ...Array<Buffer>(16).fill(blocks)],
    Array<Buffer>(16).fill(gzipSync(part)),
  ]
  bombs = { zlib: toBase64url(Buffer.concat(zlib)), gzip: `u${toBase64url(Buffer.concat(gzip))}` }
})

describe('what a list says', () => {
  it.each<[number, 1 | 2 | 4 | 8, RegExp]>([
    [0, 1, /^passed: not revoked or suspended by the status list https:\S+, fetched at \S+Z$/],
    [1, 1, /^failed: revoked by the status list/],
    [0, 2, /^passed/],
    [1, 2, /^failed: revoked by the status list/],
    [2, 2, /^failed: suspended by the status list/],
    [3, 2, /^failed: neither valid nor revoked nor suspended \(status value 3\) by/],
    [0, 4, /^passed/],
    [12, 4, /^failed: neither valid .* \(status value 12\)/],
    [0, 8, /^passed/],
    [2, 8, /^failed: suspended/],
    [200, 8, /^failed: neither valid .* \(status value 200\)/],
  ])('%i of %i bits', async (status, bits, answer) => {
    const bytes = entries(IDX, status, bits)
    expect(await ofToken(inList({ bits }), bytes)).toMatch(answer)
    const cwt: Change<CwtParts> = ({ claims: all }) => void (all.get(65_533) as Map<CborKey, Cbor>).set('bits', bits)
    expect(await ofCwt(cwt, bytes)).toMatch(answer)
  })

  it.each([IDX - 1, IDX + 1, 0, ENTRIES - 1])('nothing of the entry at %i', async (other) => {
    expect(await ofToken(same, entries(other, 1))).toMatch(/^passed/)
    expect(await ofBitstring(same, {}, bitstring(other, true))).toMatch(/^passed/)
  })

  it('each format, by the token and by the W3C', async () => {
    for (const format of profiles.map((each) => each.format)) {
      const uri = newListUri()
      network.at.set(uri, await signList(tokenParts(world, uri, entries(IDX, 1))))
      expect(await statusOfCredential(world, tokenAt(uri), format)).toMatch(/^failed: revoked/)
      if (format === 'dc+sd-jwt') continue
      const other = newListUri()
      network.at.set(other, await signList(bitstringParts(world, other, bitstring(IDX, true))))
      expect(await statusOfCredential(world, { credentialStatus: bitstringEntryAt(other) }, format)).toMatch(
        /^failed: revoked/,
      )
    }
  })

  it('of the W3C: revoked, suspended, or neither', async () => {
    expect(await ofBitstring(same, {}, bitstring(IDX, true))).toMatch(/^failed: revoked by/)
    expect(await ofBitstring(same)).toMatch(/^passed: not revoked by/)
    const suspension = inSubject({ statusPurpose: 'suspension' })
    const purpose = { statusPurpose: 'suspension' }
    expect(await ofBitstring(suspension, purpose, bitstring(IDX, true))).toMatch(/^failed: suspended by/)
    expect(await ofBitstring(suspension, purpose)).toMatch(/^passed: not suspended by/)
  })

  it('of the W3C, with several purposes, in the vc of VCDM 1.1, without a type, and with a line end', async () => {
    expect(await ofBitstring(inSubject({ statusPurpose: ['suspension', 'revocation'] }))).toMatch(/^passed/)
    const inVc: Change<ListParts> = (parts) => {
      parts.payload = { iss: parts.payload.issuer as string, vc: parts.payload }
      parts.header.typ = 'JWT'
    }
    expect(await ofBitstring(inVc)).toMatch(/^passed/)
    const namedByJti: Change<ListParts> = async (parts, uri) => {
      await without('id')(parts, uri)
      parts.payload = { iss: parts.payload.issuer as string, jti: uri, vc: parts.payload }
    }
    expect(await ofBitstring(namedByJti)).toMatch(/^passed/)
    expect(await ofBitstring(({ header }) => void Reflect.deleteProperty(header, 'typ'))).toMatch(/^passed/)
    const withLineEnd = { afterwards: (text: string) => `${text}\n` }
    expect(await ofBitstring((parts) => void Object.assign(parts, withLineEnd))).toMatch(/^passed/)
  })

  it('of both kinds: one that says no is enough', async () => {
    for (const [revoked, set] of [
      [1, false],
      [0, true],
    ] as const) {
      const [uri, other] = [newListUri(), newListUri()]
      network.at.set(uri, await signList(tokenParts(world, uri, entries(IDX, revoked))))
      network.at.set(other, await signList(bitstringParts(world, other, bitstring(IDX, set))))
      const both = { ...tokenAt(uri), credentialStatus: bitstringEntryAt(other) }
      expect(await statusOfCredential(world, both)).toMatch(/^failed: revoked/)
    }
  })

  it('of several entries of the W3C, each is looked at', async () => {
    const [uri, other] = [newListUri(), newListUri()]
    network.at.set(uri, await signList(bitstringParts(world, uri, bitstring(IDX, false))))
    const suspended = bitstringParts(world, other, bitstring(IDX, true))
    await inSubject({ statusPurpose: 'suspension' })(suspended, other)
    network.at.set(other, await signList(suspended))
    const credentialStatus = [bitstringEntryAt(uri), bitstringEntryAt(other, { statusPurpose: 'suspension' })]
    expect(await statusOfCredential(world, { credentialStatus })).toMatch(/^failed: suspended/)
    const message = bitstringEntryAt(other, { statusPurpose: 'message' })
    expect(await statusOfCredential(world, { credentialStatus: [bitstringEntryAt(uri), message] })).toMatch(
      /^passed: not revoked .*; not looked at: a statusPurpose that is neither revocation nor suspension$/,
    )
    expect(await statusOfCredential(world, { credentialStatus: [message] })).toMatch(
      /^passed: the credential carries no status; /,
    )
  })
})

describe('a status that cannot be looked up', () => {
  const uri = 'https://issuer.example/never'
  it.each<[string, JsonObject, string]>([
    ['no object', { status: 'valid' }, 'its status has no status_list, and no other way is supported'],
    ['an empty one', { status: {} }, 'its status has no status_list, and no other way is supported'],
    [
      'another way',
      { status: { identifier_list: {} } },
      'its status has no status_list, and no other way is supported',
    ],
    ['a status_list that is not an object', { status: { status_list: [] } }, 'status_list is not an object'],
    ...[-1, 1.5, '1', null, 2 ** 53].map((idx): [string, JsonObject, string] => [
      `the index ${idx}`,
      tokenAt(uri, idx),
      'idx of its status_list is not an index',
    ]),
    ['no address', { status: { status_list: { idx: 1 } } }, 'uri of its status_list is not a URL'],
    ['a relative one', tokenAt('/list'), 'uri of its status_list is not a URL'],
    ['a long one', tokenAt(`https://a.example/${'a'.repeat(2048)}`), 'uri of its status_list is not a URL'],
    ['of the W3C, no object', { credentialStatus: 'x' }, 'credentialStatus[0]: it is not a BitstringStatusListEntry'],
    [
      'of the W3C, none in a list',
      { credentialStatus: [] },
      'credentialStatus[0]: it is not a BitstringStatusListEntry',
    ],
    [
      'of another type',
      { credentialStatus: bitstringEntryAt(uri, { type: 'StatusList2021Entry' }) },
      'credentialStatus[0]: it is not a BitstringStatusListEntry',
    ],
    [
      'without a purpose',
      { credentialStatus: [bitstringEntryAt(uri), bitstringEntryAt(uri, { statusPurpose: 1 })] },
      'credentialStatus[1]: it has no statusPurpose',
    ],
    [
      'an index that is a number',
      { credentialStatus: bitstringEntryAt(uri, { statusListIndex: 1 }) },
      'credentialStatus[0]: statusListIndex is not an index, as a text',
    ],
    [
      'an index that is not a number',
      { credentialStatus: bitstringEntryAt(uri, { statusListIndex: '0x1' }) },
      'credentialStatus[0]: statusListIndex is not an index, as a text',
    ],
    [
      'entries of two bits',
      { credentialStatus: bitstringEntryAt(uri, { statusSize: 2 }) },
      'credentialStatus[0]: its statusSize is not 1, which it has to be for revocation',
    ],
    [
      'no list',
      { credentialStatus: bitstringEntryAt(uri, { statusListCredential: 'list' }) },
      'credentialStatus[0]: statusListCredential is not a URL',
    ],
    [
      'nine of them',
      { credentialStatus: Array<JsonObject>(9).fill(bitstringEntryAt(uri)) },
      'credentialStatus has more than 8 entries',
    ],
  ])('%s', async (_, members, problem) => {
    expect(await statusOfCredential(world, members)).toBe(`failed: ${problem}`)
    expect(network.requests).toEqual([])
  })
})

describe('a token that does not count', () => {
  it.each<[string, Change<ListParts>, RegExp]>([
    [
      'of another type',
      ({ header }) => void Object.assign(header, { typ: 'JWT' }),
      /: its type is not statuslist\+jwt$/,
    ],
    [
      'without a type',
      ({ header }) => void Reflect.deleteProperty(header, 'typ'),
      /: its type is not statuslist\+jwt$/,
    ],
    [
      'that comes as something else',
      (parts) => void Object.assign(parts, { contentType: 'text/html' }),
      /: what was answered is neither/,
    ],
    [
      'that comes as the other kind',
      (parts) => void Object.assign(parts, { contentType: 'application/statuslist+cwt' }),
      /cannot be used/,
    ],
    ['for another address', claims(() => ({ sub: 'https://issuer.example/other' })), /: its sub is not the address/],
    ['for none', without('sub'), /: its sub is not the address/],
    ['that does not say when', without('iat'), /: it does not say when it was issued \(iat\)$/],
    ['of no time', claims(() => ({ iat: 'now' })), /: iat is not a time$/],
    [
      '61 s ahead',
      claims(() => ({ iat: now() + 61 })),
      /: it is from the future \(iat\); compare the clocks of both machines$/,
    ],
    [
      'that begins 61 s ahead',
      claims(() => ({ nbf: now() + 61 })),
      /: it is from the future \(nbf\); compare the clocks of both machines$/,
    ],
    ['that is over', claims(() => ({ exp: now() - 61 })), /: it expired on \S+Z$/],
    ['that is over at no time', claims(() => ({ exp: true })), /: exp is not a time$/],
    ['with a ttl of nothing', claims(() => ({ ttl: 0 })), /: its ttl is not a positive number$/],
    ['with a ttl that is a text', claims(() => ({ ttl: '1' })), /: its ttl is not a positive number$/],
    ['without a list', without('status_list'), /: it has no status_list with a lst$/],
    ['with a list that is not text', inList({ lst: 1 }), /: it has no status_list with a lst$/],
    ['of three bits', inList({ bits: 3 }), /: `bits` must be 1, 2, 4 or 8$/],
    ['of bits as text', inList({ bits: '2' }), /: `bits` must be/],
    ['that is not packed', inList({ lst: toBase64url('not packed') }), /: its list is not packed by zlib$/],
    [
      'that is packed otherwise',
      inList({ lst: toBase64url(gzipSync(entries(IDX, 0))) }),
      /: its list is not packed by zlib$/,
    ],
    ['that is not base64url', inList({ lst: '!' }), /: it is not base64url$/],
    ['that is too short', inList({ lst: packed(new Uint8Array(IDX / 4)) }), /: it has no entry of that index$/],
    [
      'of a gigabyte',
      (parts, uri) => inList({ lst: bombs.zlib })(parts, uri),
      /: its list is larger than 1048576 bytes when it is unpacked$/,
    ],
    [
      'with critical extensions',
      ({ header }) => void Object.assign(header, { crit: ['x'] }),
      /: the header names critical extensions/,
    ],
    [
      'that was changed',
      (parts) => void Object.assign(parts, { afterwards: (text: string) => text.replace(/.{4}$/, 'AAAA') }),
      /: its signature is not by the key of CN=issuer\.localhost$/,
    ],
    ['under no algorithm', ({ header }) => void Object.assign(header, { alg: 'none' }), /: its signature is not by/],
    [
      'under another algorithm',
      ({ header }) => void Object.assign(header, { alg: 'ES384' }),
      /: its signature is not by/,
    ],
    [
      'that is not a JWT',
      (parts) => void Object.assign(parts, { afterwards: () => 'hello' }),
      /: a JWS has three parts/,
    ],
  ])('one %s', async (_, change, problem) => {
    const answer = await ofToken(change)
    expect(answer).toMatch(/^failed: the status list https:\/\/issuer\.example\/status-list\/\d+ cannot be used: /)
    expect(answer).toMatch(problem)
  })

  it.each<[string, Change<ListParts>]>([
    ['60 s ahead', claims(() => ({ iat: now() + 60 }))],
    ['over for 59 s', claims(() => ({ exp: now() - 59 }))],
    ['without exp and ttl', without('exp', 'ttl')],
    ['without certificates, by the key of the credential', ({ header }) => void Reflect.deleteProperty(header, 'x5c')],
    ['with a line end', (parts) => void Object.assign(parts, { afterwards: (text: string) => `${text}\r\n` })],
    [
      'with a charset',
      (parts) => void Object.assign(parts, { contentType: 'Application/statuslist+JWT; charset=utf-8' }),
    ],
  ])('but one %s does', async (_, change) => expect(await ofToken(change)).toMatch(/^passed/))

  it.each<[string, Change<CwtParts>, RegExp]>([
    [
      'of another type',
      ({ protectedHeader }) => void protectedHeader.set(16, 'application/cwt'),
      /: its type is not application\/statuslist\+cwt$/,
    ],
    ['without a type', ({ protectedHeader }) => void protectedHeader.delete(16), /: its type is not/],
    ['for another address', claim(2, 'https://issuer.example/other'), /: its sub is not the address/],
    ['that does not say when', ({ claims: all }) => void all.delete(6), /: it does not say when/],
    [
      '61 s ahead',
      ({ claims: all }) => void all.set(6, now(mdocs) + 61),
      /: it is from the future \(iat\); compare the clocks of both machines$/,
    ],
    ['that is over', ({ claims: all }) => void all.set(4, now(mdocs) - 61), /: it expired on/],
    ['with a negative ttl', claim(65_534, -1), /: its ttl is not a positive number$/],
    ['without a list', ({ claims: all }) => void all.delete(65_533), /: its status_list is not a CBOR map$/],
    ['under another algorithm', ({ protectedHeader }) => void protectedHeader.set(1, -35), /: its signature is not by/],
    [
      'by another key',
      async (parts) => void Object.assign(parts, { key: await makeKey() }),
      /: its signature is not by/,
    ],
    [
      'without certificates, by another key',
      async (parts) => {
        parts.unprotectedHeader.clear()
        parts.key = await makeKey()
      },
      /: its signature is not by/,
    ],
  ])('a CWT %s', async (_, change, problem) => {
    const answer = await ofCwt(change)
    expect(answer).toMatch(/^failed: the status list \S+ cannot be used: /)
    expect(answer).toMatch(problem)
  })

  it('but a CWT in the tag of CWTs does', async () => {
    const uri = newListUri()
    const { body, ...rest } = await signCwt(cwtParts(mdocs, uri, entries(IDX, 0)))
    network.at.set(uri, { ...rest, body: encodeCbor(makeTagged(61, decodeCbor(body))) })
    expect(await statusOfMdoc(mdocs, mdocEntryAt(uri))).toMatch(/^passed/)
  })
})

describe('a list of the W3C that does not count', () => {
  it.each<[string, Change<ListParts>, RegExp]>([
    [
      'of another type',
      ({ header }) => void Object.assign(header, { typ: 'statuslist+jwt' }),
      /: its type is not vc\+jwt$/,
    ],
    [
      'that is another credential',
      claims(() => ({ type: ['VerifiableCredential'] })),
      /: it is not a BitstringStatusListCredential$/,
    ],
    ['that names no address', without('id'), /: it has no id, by which it would say its address$/],
    ['for another address', claims(() => ({ id: 'https://issuer.example/other' })), /: its id is not the address/],
    [
      'of another issuer',
      claims(() => ({ issuer: 'https://other.example' })),
      /: it names another issuer than the credential$/,
    ],
    ['of no issuer', without('issuer'), /: it names another issuer than the credential$/],
    [
      'of two issuers',
      claims(() => ({ iss: 'https://other.example' })),
      /: it names another issuer than the credential$/,
    ],
    ['for another purpose', inSubject({ statusPurpose: 'suspension' }), /: its statusPurpose is not revocation$/],
    ['for no purpose', inSubject({ statusPurpose: null }), /: its statusPurpose is not revocation$/],
    ['of another subject', inSubject({ type: 'Person' }), /: its credentialSubject is not a BitstringStatusList$/],
    [
      'without a subject',
      without('credentialSubject'),
      /: it is not a credential: its credentialSubject has no claims$/,
    ],
    ['without a context', without('@context'), /: it is not a credential: its @context does not begin with https:/],
    [
      'that is no credential',
      claims(() => ({ type: ['BitstringStatusListCredential'] })),
      /: it is not a credential: its type has no VerifiableCredential$/,
    ],
    ['that is over', claims(() => ({ validUntil: new Date((now() - 61) * 1000).toISOString() })), /: it expired on/],
    [
      'that begins 61 s ahead',
      claims(() => ({ validFrom: new Date((now() + 61) * 1000).toISOString() })),
      /: it is from the future \(validFrom\); compare the clocks of both machines$/,
    ],
    [
      'that was signed ahead',
      claims(() => ({ iat: now() + 61 })),
      /: it is from the future \(iat\); compare the clocks of both machines$/,
    ],
    [
      'without the letter before the list',
      inSubject({ encodedList: toBase64url(gzipSync(bitstring(0, false))) }),
      /: its encodedList does not begin with u$/,
    ],
    [
      'that is packed otherwise',
      inSubject({ encodedList: `u${packed(bitstring(0, false))}` }),
      /: its list is not packed by gzip$/,
    ],
    [
      'that is too small',
      inSubject({ encodedList: `u${toBase64url(gzipSync(new Uint8Array(16_383)))}` }),
      /: its list has fewer than 131072 entries$/,
    ],
    [
      'of a gigabyte',
      (parts, uri) => inSubject({ encodedList: bombs.gzip })(parts, uri),
      /: its list is larger than 1048576 bytes/,
    ],
    ['with a ttl that is none', inSubject({ ttl: -1 }), /: its ttl is not a positive number$/],
    [
      'by another key',
      async (parts) => void Object.assign(parts, { key: await makeKey() }),
      /: its signature is not by/,
    ],
  ])('one %s', async (_, change, problem) => {
    const answer = await ofBitstring(change)
    expect(answer).toMatch(/^failed: the status list \S+ cannot be used: /)
    expect(answer).toMatch(problem)
  })

  it('one without an entry of the index', async () => {
    expect(await ofBitstring(same, { statusListIndex: String(ENTRIES) })).toMatch(/: it has no entry of that index$/)
  })
})

describe('who may sign a list', () => {
  const by =
    (authority: () => Authority, options: Parameters<typeof certify>[2] = {}): Change<ListParts> =>
    async (parts) => {
      parts.key = await makeKey()
      parts.header.x5c = base64([certify(authority(), parts.key, options)])
    }
  const uris = ['https://provider.example']
  const name = writeName([['CN', 'Status Provider']])
  const purposes = [EXTENDED_KEY_USAGE.statusSigning]

  it.each<[string, Change<ListParts>]>([
    ['the issuer with a new key, under its authority', by(() => world.ca, { uris })],
    ['the issuer by another name, with a certificate for its identifier', by(() => world.ca, { name })],
    ['a provider whom the authority certified for status lists', by(() => world.ca, { name, uris, purposes })],
    [
      'the issuer with its key in a certificate of somebody else',
      ({ header }) => {
        header.x5c = base64([certify(stranger, world.issuerKey)])
      },
    ],
  ])('%s', async (_, change) => expect(await ofToken(change)).toMatch(/^passed/))

  it('a provider whom the authority of the issuer certified, also where the issuer is an anchor itself', async () => {
    const authority = await makeAuthority('Pinned CA')
    const anchors = [toPem(authority.der)]
    const self = await startWorld({
      outbound: network.outbound,
      anchors,
      issuerCertificates: (key) => {
        const own = toPem(certify(authority, key))
        anchors.push(own)
        return Promise.resolve(own)
      },
    })
    onTestFinished(() => self.services.close())
    const uri = newListUri()
    const parts = tokenParts(self, uri, entries(IDX, 0))
    await by(() => authority, { name, uris, purposes })(parts, uri)
    network.at.set(uri, await signList(parts))
    expect(await statusOfCredential(self, tokenAt(uri))).toMatch(/^passed/)
  })

  it('the issuer with a certificate for certificates alone where that is an anchor, and not otherwise', async () => {
    const outcomeWhere = async (isAnchor: boolean): Promise<string> => {
      const anchors: string[] = []
      let forCertificates: Buffer = Buffer.of()
      const self = await startWorld({
        outbound: network.outbound,
        anchors,
        issuerCertificates: (key) => {
          forCertificates = certify({ name: certificateName, key }, key, { isCa: true, usages: ['keyCertSign'] })
          const own = toPem(certify({ name: certificateName, key }, key))
          anchors.push(own, ...(isAnchor ? [toPem(forCertificates)] : []))
          return Promise.resolve(own)
        },
      })
      onTestFinished(() => self.services.close())
      const uri = newListUri()
      const parts = tokenParts(self, uri, entries(IDX, 0))
      parts.header.x5c = base64([forCertificates])
      network.at.set(uri, await signList(parts))
      return statusOfCredential(self, tokenAt(uri))
    }
    expect(await outcomeWhere(true)).toMatch(/^passed/)
    expect(await outcomeWhere(false)).toMatch(/does not allow digitalSignature$/)
  })

  it.each<[string, Change<ListParts>, RegExp]>([
    [
      'another issuer of the same authority',
      by(() => world.ca, { name, uris }),
      /: it is signed by CN=Status Provider, who is not the issuer of what has this status$/,
    ],
    [
      'whoever an unknown authority says is the issuer',
      by(() => stranger),
      /: 'CN=issuer\.localhost', issued by 'CN=Stranger CA', is not trusted/,
    ],
    [
      'a provider of another authority that is trusted',
      by(() => second, { name, uris, purposes }),
      /: it is signed by CN=Status Provider, who is not/,
    ],
    [
      'somebody of the name of the issuer, whom another authority that is trusted certified',
      by(() => second, { uris }),
      /: it is signed by CN=issuer\.localhost, who is not the issuer of what has this status$/,
    ],
    [
      'somebody of the name of the issuer, whom a trusted authority of the name of its authority certified',
      by(() => namesake, { uris }),
      /: it is signed by CN=issuer\.localhost, who is not the issuer of what has this status$/,
    ],
    ['a provider of an unknown authority', by(() => stranger, { name, uris, purposes }), /is not trusted/],
    [
      'the issuer with a certificate that is over',
      by(() => world.ca, { until: -1 }),
      /: the certificate 'CN=issuer\.localhost' expired/,
    ],
    [
      'the issuer with a certificate for something else',
      by(() => world.ca, { purposes: [EXTENDED_KEY_USAGE.codeSigning] }),
      /does not allow signing status lists$/,
    ],
    [
      'the issuer with a key that may not sign',
      by(() => world.ca, { usages: ['keyAgreement'] }),
      /does not allow digitalSignature$/,
    ],
    [
      'nobody, with eleven certificates',
      ({ header }) => void Object.assign(header, { x5c: Array<string>(11).fill('AA==') }),
      /: it comes with more than 10 certificates$/,
    ],
    [
      'nobody, with what is not a certificate',
      ({ header }) => void Object.assign(header, { x5c: ['AA=='] }),
      /: a certificate of it cannot be read/,
    ],
    [
      'nobody, with a certificate in base64url',
      ({ header }) => {
        header.x5c = (header.x5c as string[]).map((text) => Buffer.from(text, 'base64').toString('base64url'))
      },
      /: x5c\[0\]: it is not base64$/,
    ],
    [
      'nobody, with a value that is not text behind the certificate',
      ({ header }) => {
        header.x5c = [...(header.x5c as string[]), 5]
      },
      /: x5c\[\d\]: it is not a string$/,
    ],
  ])('not %s', async (_, change, problem) => expect(await ofToken(change)).toMatch(problem))

  describe('of mdocs', () => {
    const inMdocWorld = async (options: WorldOptions): Promise<void> => {
      const usualMdocs = mdocs
      mdocs = await startMdocWorld({ outbound: network.outbound, ...options })
      onTestFinished(async () => {
        await mdocs.services.close()
        mdocs = usualMdocs
      })
    }
    const byMdocs =
      (authority: () => Authority, options: Parameters<typeof certify>[2] = {}): Change<CwtParts> =>
      async (parts) => {
        parts.key = await makeKey()
        parts.unprotectedHeader.clear()
        parts.protectedHeader.set(33, new Uint8Array(certify(authority(), parts.key, { name, uris, ...options })))
      }

    it.each<[string, Change<CwtParts>]>([
      ['a signer whom the issuing authority certified for nothing else', byMdocs(() => mdocs.ca)],
      ['a signer whom the issuing authority certified for status lists', byMdocs(() => mdocs.ca, { purposes })],
      [
        'the issuer, with its certificate in the protected header',
        ({ protectedHeader, unprotectedHeader }) => {
          protectedHeader.set(33, unprotectedHeader.get(33) ?? null)
          unprotectedHeader.clear()
        },
      ],
    ])('%s', async (_, change) => expect(await ofCwt(change)).toMatch(/^passed/))

    it.each<[string, Change<CwtParts>, RegExp]>([
      [
        'another issuer of mdocs under the authority',
        byMdocs(() => mdocs.ca, { purposes: documentSigner }),
        /: it is signed by CN=Status Provider, who is not the issuer of what has this status$/,
      ],
      [
        'a CA below the authority',
        byMdocs(() => mdocs.ca, { isCa: true, usages: ['digitalSignature', 'keyCertSign'] }),
        /: it is signed by CN=Status Provider, who is not the issuer of what has this status$/,
      ],
      [
        'a signer whom a CA below the authority certified',
        async (parts) => {
          const below = { name: writeName([['CN', 'Company CA']]), key: await makeKey() }
          const company = certify(mdocs.ca, below.key, { name: below.name, isCa: true, usages: ['keyCertSign'] })
          parts.key = await makeKey()
          const chain = [certify(below, parts.key, { name, uris }), company]
          parts.unprotectedHeader.clear()
          parts.protectedHeader.set(
            33,
            chain.map((der) => new Uint8Array(der)),
          )
        },
        /: it is signed by CN=Status Provider, who is not the issuer of what has this status$/,
      ],
      ['a signer of an unknown authority', byMdocs(() => stranger), /is not trusted/],
      [
        'whoever puts a second chain into the other header',
        ({ protectedHeader, unprotectedHeader }) => void protectedHeader.set(33, unprotectedHeader.get(33) ?? null),
        /: the x5chain of the token is in both headers$/,
      ],
    ])('not %s', async (_, change, problem) => expect(await ofCwt(change)).toMatch(problem))

    describe('with a certificate that the mdoc names', () => {
      const naming = (der: () => Uint8Array) => ({ certificate: new Uint8Array(der()) })

      it('its signer, and whoever that certified', async () => {
        expect(
          await ofCwt(
            byMdocs(() => stranger),
            undefined,
            naming(() => stranger.der),
          ),
        ).toMatch(/^passed/)
        const key = await makeKey()
        const der = certify(stranger, key, { name, uris })
        const itself: Change<CwtParts> = (parts) => {
          parts.key = key
          parts.unprotectedHeader.set(33, new Uint8Array(der))
        }
        expect(
          await ofCwt(
            itself,
            undefined,
            naming(() => der),
          ),
        ).toMatch(/^passed/)
      })

      it.each<[string, Change<CwtParts>]>([
        ['the issuer under its authority', same],
        ['a signer whom the issuing authority certified', byMdocs(() => mdocs.ca, { purposes })],
      ])('and not %s', async (_, change) =>
        expect(
          await ofCwt(
            change,
            undefined,
            naming(() => stranger.der),
          ),
        ).toMatch(/cannot be used: the credential names the certificate of CN=Stranger CA for it: .* is not trusted/),
      )

      it('of document signers, the issuer alone', async () => {
        const byIssuer: Change<CwtParts> = ({ unprotectedHeader }) => {
          const der = certify(stranger, mdocs.issuerKey, { name, uris, purposes: documentSigner })
          unprotectedHeader.set(33, new Uint8Array(der))
        }
        const named = naming(() => stranger.der)
        expect(await ofCwt(byIssuer, undefined, named)).toMatch(/^passed/)
        const byOther = byMdocs(() => stranger, { purposes: documentSigner })
        expect(await ofCwt(byOther, undefined, named)).toMatch(/: it is signed by CN=Status Provider, who is not/)
      })

      it('and nobody, where it is no certificate', async () => {
        expect(
          await ofCwt(
            same,
            undefined,
            naming(() => new Uint8Array([1])),
          ),
        ).toMatch(/cannot be used: the certificate that the credential names for it cannot be read: /)
        expect(await ofCwt(same, undefined, { certificate: 5 })).toBe(
          'failed: certificate of its status_list is not a byte string',
        )
      })
    })

    it('not a signer of another authority that is trusted', async () => {
      const other = await makeAuthority('Other IACA')
      await inMdocWorld({ issuerPurposes: documentSigner, moreAnchors: [toPem(other.der)] })
      expect(await ofCwt(byMdocs(() => other))).toMatch(/: it is signed by CN=Status Provider, who is not/)
    })

    it('not another company of an authority that certifies others than document signers of mdocs', async () => {
      await inMdocWorld({})
      expect(await ofCwt(byMdocs(() => mdocs.ca))).toMatch(/: it is signed by CN=Status Provider, who is not/)
    })
  })

  it('not another company of the same authority, where neither certificate has a subject', async () => {
    const subject = { name: writeName([]) }
    const ofUnnamedIssuer = async (names: Parameters<typeof certify>[2]): Promise<string> => {
      const uri = newListUri()
      const parts = tokenParts(world, uri, entries(IDX, 0))
      await by(() => world.ca, { ...subject, ...names })(parts, uri)
      network.at.set(uri, await signList(parts))
      const report = await present(world, queryFor(usualProfile), (forgery) => {
        forgery.header.x5c = base64([certify(world.ca, world.issuerKey, subject)])
        Object.assign(forgery.payload, tokenAt(uri))
      })
      return statusOutcome(report)
    }
    expect(await ofUnnamedIssuer({ uris: ['https://other-company.example'] })).toMatch(
      /: it is signed by a certificate without a subject, who is not the issuer of what has this status$/,
    )
    expect(await ofUnnamedIssuer({})).toMatch(/^passed/)
  })

  it('not another issuer of the same name, where both are anchors and neither has an authority above', async () => {
    const selfSigned = (key: KeyObject, uri: string): Buffer => {
      return certify({ name: certificateName, key }, key, { uris: [uri] })
    }
    const [issuerKey, otherKey] = [await makeKey(), await makeKey()]
    const issuer = selfSigned(issuerKey, ISSUER_URL)
    const other = selfSigned(otherKey, 'https://other.example')
    const renewed = selfSigned(otherKey, ISSUER_URL)
    const given = await startWorld({
      outbound: network.outbound,
      moreAnchors: [issuer, other, renewed].map((der) => toPem(der)),
    })
    const statusBy = async (key: KeyObject, certificate: Buffer): Promise<string> => {
      const uri = newListUri()
      const parts = { ...tokenParts(given, uri, entries(IDX, 0)), key }
      parts.header.x5c = base64([certificate])
      network.at.set(uri, await signList(parts))
      const report = await present(given, queryFor(usualProfile), (forgery) => {
        forgery.header.x5c = base64([issuer])
        forgery.signCredential = signWith(issuerKey)
        Object.assign(forgery.payload, tokenAt(uri))
      })
      return statusOutcome(report)
    }
    expect(await statusBy(otherKey, other)).toMatch(
      /: it is signed by CN=issuer\.localhost, who is not the issuer of what has this status$/,
    )
    expect(await statusBy(otherKey, renewed)).toMatch(/^passed/)
    expect(await statusBy(issuerKey, issuer)).toMatch(/^passed/)
    await given.services.close()
  })

  it('not with a certificate for status lists: a credential', async () => {
    const key = await makeKey()
    const report = await present(world, queryFor(usualProfile), (forgery) => {
      forgery.header.x5c = base64([certify(world.ca, key, { purposes })])
      forgery.signCredential = signWith(key)
    })
    const [card] = Object.values(report.credentials).flat()
    expect(outcomesOf(card)).toMatchObject({ 'issuer.signature': 'passed', 'issuer.certificate': 'failed' })
  })
})
