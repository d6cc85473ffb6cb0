/**
 * Every way in which the identifier list of a good mdoc can say no, or say nothing that counts. ISO/IEC 18013-5, second
 * edition, 12.3.6.
 */
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import type { Cbor, CborKey } from '../../src/codec/cbor.ts'
import { writeName } from '../../src/keys/certificate-name.ts'
import { EXTENDED_KEY_USAGE } from '../../src/keys/certificate-purpose.ts'
import {
  type CwtParts,
  cwtParts,
  entries,
  IDX,
  makeNetwork,
  mdocEntryAt,
  newListUri,
  signCwt,
} from '../support/foreign-status.ts'
import { type Authority, certify, makeAuthority, type World } from '../support/forge.ts'
import { startMdocWorld } from '../support/mdoc.ts'
import { makeKey } from '../support/services.ts'
import { statusOfMdoc } from '../support/status-outcome.ts'

const network = makeNetwork()
let mdocs: World
/** An authority that nobody trusts. */
let stranger: Authority
beforeAll(async () => {
  stranger = await makeAuthority('Stranger CA')
  mdocs = await startMdocWorld({
    outbound: network.outbound,
    issuerPurposes: [EXTENDED_KEY_USAGE.mdlDocumentSigner],
  })
})
afterAll(() => mdocs.services.close())
afterEach(() => {
  network.requests.length = 0
  network.at.clear()
})

type Change = (parts: CwtParts, uri: string) => void | Promise<void>
const now = (): number => Math.floor(mdocs.services.clock.now.getTime() / 1000)
const claim =
  (label: number, value: Cbor): Change =>
  ({ claims: all }) =>
    void all.set(label, value)

/** The identifier of the mdoc, and those of others. */
const [own, other, third] = [7, 8, 9].map((byte) => new Uint8Array(16).fill(byte)) as [
  Uint8Array,
  Uint8Array,
  Uint8Array,
]
const identifierEntryAt = (uri: string, more: Record<string, Cbor> = {}): [string, Cbor] => [
  'identifier_list',
  new Map(Object.entries({ id: own, uri, ...more })),
]

/** Makes the parts of an identifier list, whose keys may be anything. */
function identifierParts(uri: string, identifiers: readonly unknown[]): CwtParts {
  const parts = cwtParts(mdocs, uri, new Uint8Array(1))
  const list = new Map([['identifiers', new Map(identifiers.map((id) => [id as CborKey, new Map()]))]])
  parts.claims.delete(65_533)
  parts.claims.set(65_530, list)
  parts.protectedHeader.set(16, 'application/identifierlist+cwt')
  return { ...parts, contentType: 'application/identifierlist+cwt' }
}

async function ofIdentifierList(
  identifiers: readonly unknown[],
  change: Change = () => undefined,
  more: Record<string, Cbor> = {},
): Promise<string> {
  const uri = newListUri()
  const parts = identifierParts(uri, identifiers)
  await change(parts, uri)
  network.at.set(uri, await signCwt(parts))
  return statusOfMdoc(mdocs, identifierEntryAt(uri, more))
}

describe('an identifier list, which mdocs may have', () => {
  it('names the mdocs that are revoked', async () => {
    expect(await ofIdentifierList([])).toMatch(
      /^passed: not revoked by the identifier list https:\S+, fetched at \S+Z$/,
    )
    expect(await ofIdentifierList([other, third])).toMatch(/^passed/)
    expect(await ofIdentifierList([other, own, third])).toMatch(/^failed: revoked by the identifier list https:/)
    expect(network.requests[0]).toMatchObject({ headers: { accept: 'application/identifierlist+cwt' } })
  })

  it('counts beside a status list', async () => {
    const statusOfBoth = async (index: number, identifiers: readonly unknown[]): Promise<string> => {
      const [statusUri, uri] = [newListUri(), newListUri()]
      network.at.set(statusUri, await signCwt(cwtParts(mdocs, statusUri, entries(index, 1))))
      network.at.set(uri, await signCwt(identifierParts(uri, identifiers)))
      return statusOfMdoc(mdocs, mdocEntryAt(statusUri), identifierEntryAt(uri))
    }
    expect(await statusOfBoth(IDX + 1, [other])).toMatch(
      /^passed: .* status list .*; not revoked by the identifier list/,
    )
    expect(await statusOfBoth(IDX, [other])).toMatch(/^failed: revoked by the status list/)
    expect(await statusOfBoth(IDX + 1, [own])).toMatch(/^failed: revoked by the identifier list/)
  })

  it('may have fifty thousand identifiers', async () => {
    const many = Array.from({ length: 50_000 }, (_, index) => Buffer.from(String(index).padStart(16, '0')))
    expect(await ofIdentifierList(many)).toMatch(/^passed/)
    expect(await ofIdentifierList([...many, own])).toMatch(/^failed: revoked/)
    const more = Array.from({ length: 60_000 }, (_, index) => Buffer.from(String(index).padStart(8, '0')))
    expect(await ofIdentifierList(more)).toMatch(/cannot be used: the CBOR has more than 120000 values$/)
  })

  it.each<[string, Change, RegExp]>([
    [
      'of another type',
      ({ protectedHeader }) => void protectedHeader.set(16, 'application/statuslist+cwt'),
      /: its type is not application\/identifierlist\+cwt$/,
    ],
    [
      'under another media type',
      (parts) => void Object.assign(parts, { contentType: 'application/statuslist+cwt' }),
      /: what was answered is not application\/identifierlist\+cwt$/,
    ],
    ['for another address', claim(2, 'https://issuer.example/other'), /: its sub is not the address/],
    ['without an end', ({ claims: all }) => void all.delete(4), /: it does not say until when it is valid \(exp\)$/],
    ['that is over', ({ claims: all }) => void all.set(4, now() - 61), /: it expired on/],
    ['with a status list', claim(65_533, new Map()), /: it is a list of identifiers and a status list at once$/],
    ['without identifiers', claim(65_530, new Map()), /: identifiers of its identifier list is not a CBOR map$/],
    [
      'with texts',
      claim(65_530, new Map([['identifiers', new Map([['a', 1]])]])),
      /: an identifier of it is not a byte string$/,
    ],
    [
      'by another key',
      async (parts) => void Object.assign(parts, { key: await makeKey() }),
      /: its signature is not by/,
    ],
  ])('is not used %s', async (_, change, problem) => {
    const answer = await ofIdentifierList([], change)
    expect(answer).toMatch(/^failed: the identifier list \S+ cannot be used: /)
    expect(answer).toMatch(problem)
  })

  it('is signed under the certificate that the mdoc names', async () => {
    const byStranger: Change = async (parts) => {
      parts.key = await makeKey()
      parts.unprotectedHeader.set(33, new Uint8Array(certify(stranger, parts.key)))
    }
    const certificate = new Uint8Array(stranger.der)
    expect(await ofIdentifierList([other], byStranger, { certificate })).toMatch(/^passed/)
    expect(await ofIdentifierList([other], byStranger)).toMatch(/is not trusted/)
  })

  it.each<[string, string, object, RegExp]>([
    [
      'a TLS server',
      EXTENDED_KEY_USAGE.tlsServer,
      { isCritical: false },
      /: the certificate 'CN=Somebody else' is that of a TLS server/,
    ],
    [
      'another issuer of mdocs',
      EXTENDED_KEY_USAGE.mdlDocumentSigner,
      {},
      /: it is signed by CN=Somebody else, who is not the issuer of what has this status$/,
    ],
  ])('is not used by %s, also below the certificate that the mdoc names', async (_, purpose, more, problem) => {
    const bySomebody: Change = async (parts) => {
      parts.key = await makeKey()
      const certificate = certify(mdocs.ca, parts.key, {
        name: writeName([['CN', 'Somebody else']]),
        dnsNames: ['other.example'],
        purposes: [purpose],
        ...more,
      })
      parts.protectedHeader.delete(33)
      parts.unprotectedHeader.set(33, new Uint8Array(certificate))
    }
    const certificate = new Uint8Array(mdocs.ca.der)
    expect(await ofIdentifierList([other], bySomebody, { certificate })).toMatch(problem)
    expect(await ofIdentifierList([other], bySomebody)).toMatch(problem)
  })

  it('is not looked up for an identifier that is no byte string', async () => {
    const uri = newListUri()
    expect(await statusOfMdoc(mdocs, identifierEntryAt(uri, { id: 'CAgI' }))).toMatch(
      /^failed: its status has no status_list/,
    )
    expect(await statusOfMdoc(mdocs, ['identifier_list', new Map([['uri', uri]])])).toBe(
      'failed: its identifier_list has no id',
    )
    expect(network.requests).toEqual([])
  })
})
