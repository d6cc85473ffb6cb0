/**
 * Attacks on the content of a mobile document: its elements, its validity and status, and whether it is what was asked
 * for.
 */
import { createHash } from 'node:crypto'
import { fromBase64url } from '../../src/codec/base64url.ts'
import {
  asMap,
  CBOR_TAG,
  type Cbor,
  type CborKey,
  decodeCbor,
  embedCbor,
  encodeCbor,
  makeTagged,
} from '../../src/codec/cbor.ts'
import { digestItem } from '../../src/credential/mso-mdoc/elements.ts'
import { readIssuerSigned } from '../../src/credential/mso-mdoc/issuer-signed.ts'
import {
  digestsOf,
  itemOf,
  MDL,
  type MdocForgery,
  mdocConfiguration,
  mdocDataset,
  membersOf,
  NAMESPACE,
  OTHER_NAMESPACE,
  replaceItem,
} from '../support/mdoc.ts'
import { holderSigner, issueCredential } from '../support/wire.ts'
import { type Attack, after } from './attack.ts'

type MdocAttack = Attack<MdocForgery>

const badElement = { fails: 'disclosures.valid', notRun: after.disclosures }
const unreadable = { fails: 'presentation.well_formed', notRun: after.reading }
const HOUR = 3600

/** Returns a tdate that many seconds before `now`. */
export function past(now: Date, seconds: number): Cbor {
  return makeTagged(CBOR_TAG.dateTime, `${new Date(now.getTime() - seconds * 1000).toISOString().slice(0, 19)}Z`)
}

/** Replaces members of validityInfo, or takes them away. */
export function validityInfo({ mso }: MdocForgery, members: Readonly<Record<string, Cbor | undefined>>): void {
  const info = membersOf(mso.get('validityInfo'))
  for (const [name, value] of Object.entries(members)) {
    if (value === undefined) info.delete(name)
    else info.set(name, value)
  }
  mso.set('validityInfo', info)
}

function validity(members: (now: Date) => Readonly<Record<string, Cbor | undefined>>): Pick<MdocAttack, 'change'> {
  return { change: (forgery, { services }) => validityInfo(forgery, members(services.clock.now)) }
}

/** Replaces the item of given_name; the issuer signs its digest, so that nothing else is wrong with it. */
function signedItem(change: (item: Map<CborKey, Cbor>) => Uint8Array | undefined): Pick<MdocAttack, 'change'> {
  return {
    change(forgery) {
      const { item } = itemOf(forgery, 'given_name')
      replaceItem(forgery, 'given_name', change(item) ?? encodeCbor(item), true)
    },
  }
}

/** Replaces a member of the item of given_name, with the digest signed anew. */
function member(name: string, value: Cbor | undefined): Pick<MdocAttack, 'change'> {
  return signedItem((item) => {
    if (value === undefined) item.delete(name)
    else item.set(name, value)
    return undefined
  })
}

/** Replaces the value of given_name by CBOR that encodeCbor would not write. */
function rawValue(hex: string): Pick<MdocAttack, 'change'> {
  return signedItem((item) => {
    item.set('elementValue', 'MARK')
    const [before = '', behind = ''] = Buffer.from(encodeCbor(item)).toString('hex').split('644d41524b')
    return Buffer.from(before + hex + behind, 'hex')
  })
}

function mso(name: string, value: Cbor | undefined): Pick<MdocAttack, 'change'> {
  return {
    change(forgery) {
      if (value === undefined) forgery.mso.delete(name)
      else forgery.mso.set(name, value)
    },
  }
}

/** Replaces members of the DeviceResponse, or takes them away. */
function response(members: Readonly<Record<string, Cbor | undefined>>): Pick<MdocAttack, 'change'> {
  return {
    change(forgery) {
      forgery.finish = (_, whole) => {
        for (const [name, value] of Object.entries(members)) {
          if (value === undefined) whole.delete(name)
          else whole.set(name, value)
        }
      }
    },
  }
}

function bytes(make: (whole: Uint8Array) => Uint8Array | string): Pick<MdocAttack, 'change'> {
  return {
    change(forgery) {
      forgery.afterwards = make
    },
  }
}

function removeElement(forgery: MdocForgery, name: string): Uint8Array {
  const { items, index, bytes: removed } = itemOf(forgery, name)
  items.splice(index, 1)
  return removed
}

const elementAttacks: readonly MdocAttack[] = [
  {
    attack: 'Two elements together hold more values than anybody should read, each of them fewer.',
    ...badElement,
    change(forgery) {
      for (const name of ['given_name', 'age_over_18']) {
        const { item } = itemOf(forgery, name)
        item.set('elementValue', Array<Cbor>(11_000).fill(0))
        replaceItem(forgery, name, encodeCbor(item), true)
      }
    },
  },
  {
    attack: 'The holder changes the value of an element.',
    ...badElement,
    change(forgery) {
      const { item } = itemOf(forgery, 'given_name')
      replaceItem(forgery, 'given_name', encodeCbor(item.set('elementValue', 'Grace')), false)
    },
  },
  {
    attack: 'The holder changes the name of an element.',
    ...badElement,
    change(forgery) {
      const { item } = itemOf(forgery, 'age_over_18')
      replaceItem(forgery, 'age_over_18', encodeCbor(item.set('elementIdentifier', 'age_over_21')), false)
    },
  },
  {
    attack: 'The holder shows an element of another document, by the same issuer and with the same value.',
    ...badElement,
    async change(forgery, { services }) {
      const other = await issueCredential(services, await holderSigner(), mdocConfiguration, mdocDataset)
      const { nameSpaces } = readIssuerSigned(decodeCbor(fromBase64url(other)))
      const { items, index, item } = itemOf(forgery, 'family_name')
      const theirs = (nameSpaces.get(NAMESPACE) ?? []).find(
        (each) => asMap(decodeCbor(each), 'it').get('elementIdentifier') === 'family_name',
      )
      const random = asMap(decodeCbor(theirs ?? new Uint8Array()), 'it').get('random') ?? null
      items[index] = encodeCbor(item.set('random', random))
    },
  },
  {
    attack: 'The holder adds an element of which the issuer knows nothing.',
    ...badElement,
    change(forgery) {
      const { items, item } = itemOf(forgery, 'given_name')
      items.push(encodeCbor(item.set('digestID', 99).set('elementIdentifier', 'age_over_21').set('elementValue', true)))
    },
  },
  {
    attack: 'An element is sent twice.',
    ...badElement,
    change(forgery) {
      const { items, bytes: twice } = itemOf(forgery, 'given_name')
      items.push(twice)
    },
  },
  {
    attack: 'Two elements have one digestID.',
    ...badElement,
    change(forgery) {
      const digestID = itemOf(forgery, 'given_name').item.get('digestID') ?? null
      const { item } = itemOf(forgery, 'portrait')
      replaceItem(forgery, 'portrait', encodeCbor(item.set('digestID', digestID)), false)
    },
  },
  {
    attack: 'The issuer signed an element twice, with two values.',
    ...badElement,
    change(forgery) {
      const { items, item } = itemOf(forgery, 'given_name')
      const other = encodeCbor(item.set('digestID', 99).set('elementValue', 'Grace'))
      items.push(other)
      digestsOf(forgery).set(99, digestItem(other))
    },
  },
  {
    attack: 'An element is moved into another namespace.',
    ...badElement,
    change(forgery) {
      const item = removeElement(forgery, 'given_name')
      forgery.nameSpaces.get(OTHER_NAMESPACE)?.push(item)
    },
  },
  {
    attack: 'The namespace of the elements has another name than the issuer signed.',
    ...badElement,
    change({ nameSpaces }) {
      nameSpaces.set('org.example.renamed', nameSpaces.get(OTHER_NAMESPACE) ?? [])
      nameSpaces.delete(OTHER_NAMESPACE)
    },
  },
  {
    attack: 'The issuer signed no digest for an element.',
    ...badElement,
    change: (forgery) => void digestsOf(forgery).delete(itemOf(forgery, 'given_name').item.get('digestID') as number),
  },
  {
    attack: 'Two elements have exchanged their digests.',
    ...badElement,
    change(forgery) {
      const digests = digestsOf(forgery)
      const [one, other] = ['given_name', 'portrait'].map(
        (name) => itemOf(forgery, name).item.get('digestID') as number,
      )
      const [digest, otherDigest] = [digests.get(one ?? 0) ?? null, digests.get(other ?? 0) ?? null]
      digests.set(one ?? 0, otherDigest).set(other ?? 0, digest)
    },
  },
  {
    attack: 'A digest is shortened.',
    ...badElement,
    change(forgery) {
      const { item, bytes: whole } = itemOf(forgery, 'given_name')
      digestsOf(forgery).set(item.get('digestID') as number, digestItem(whole).subarray(0, 16))
    },
  },
  {
    attack: 'A digest is empty.',
    ...badElement,
    change: (forgery) =>
      void digestsOf(forgery).set(itemOf(forgery, 'given_name').item.get('digestID') as number, new Uint8Array(0)),
  },
  {
    attack: 'A digest is taken over the element without its tag.',
    ...badElement,
    change(forgery) {
      const { item, bytes: whole } = itemOf(forgery, 'given_name')
      digestsOf(forgery).set(item.get('digestID') as number, createHash('sha256').update(whole).digest())
    },
  },
  {
    attack: 'The digests of a namespace are an array.',
    ...badElement,
    ...mso('valueDigests', new Map([[NAMESPACE, []]])),
  },
  { attack: 'There is a digest of no namespace.', ...badElement, ...mso('valueDigests', new Map()) },
  { attack: 'The digest algorithm is SHA-1.', ...badElement, ...mso('digestAlgorithm', 'SHA-1') },
  {
    attack: 'The digest algorithm is SHA-512, and the digests are SHA-256.',
    ...badElement,
    ...mso('digestAlgorithm', 'SHA-512'),
  },
  { attack: 'The digest algorithm is missing.', ...badElement, ...mso('digestAlgorithm', undefined) },
  {
    attack: 'The digest algorithm has the name that Node has for it.',
    ...badElement,
    ...mso('digestAlgorithm', 'sha256'),
  },
  { attack: 'An element has no digestID.', ...badElement, ...member('digestID', undefined) },
  { attack: 'An element has a text for a digestID.', ...badElement, ...member('digestID', '1') },
  { attack: 'An element has a digestID below zero.', ...badElement, ...member('digestID', -1) },
  { attack: 'An element has no random.', ...badElement, ...member('random', undefined) },
  { attack: 'An element has a text for its random.', ...badElement, ...member('random', 'random') },
  { attack: 'An element has no name.', ...badElement, ...member('elementIdentifier', undefined) },
  { attack: 'An element has a number for its name.', ...badElement, ...member('elementIdentifier', 7) },
  { attack: 'An element has no value.', ...badElement, ...member('elementValue', undefined) },
  {
    attack: 'An element has a value with one name twice, as a number and as a text.',
    ...badElement,
    ...member(
      'elementValue',
      new Map<CborKey, Cbor>([
        [1, 'a'],
        ['1', 'b'],
      ]),
    ),
  },
  { attack: 'An element is an array.', ...badElement, ...signedItem((item) => encodeCbor([...item.values()])) },
  { attack: 'An element is not CBOR.', ...badElement, ...signedItem(() => Buffer.from('Ada')) },
  {
    attack: 'An element has bytes behind it.',
    ...badElement,
    ...signedItem((item) => Buffer.concat([encodeCbor(item), Buffer.from([0])])),
  },
  { attack: 'The value of an element is undefined.', ...badElement, ...rawValue('f7') },
  { attack: 'The value of an element is not a number (NaN).', ...badElement, ...rawValue('f97e00') },
  { attack: 'The value of an element has a key twice.', ...badElement, ...rawValue('a2616101616102') },
  { attack: 'The value of an element is a text that is not UTF-8.', ...badElement, ...rawValue('62c328') },
  { attack: 'The value of an element is a number that is longer than it need be.', ...badElement, ...rawValue('1801') },
  { attack: 'The value of an element is of indefinite length.', ...badElement, ...rawValue('9fff') },
  {
    attack: 'The value of an element is nested deeper than anybody needs.',
    ...badElement,
    ...rawValue(`${'81'.repeat(40)}00`),
  },
]

const validityAttacks: readonly MdocAttack[] = [
  {
    attack: 'The mobile document has expired.',
    fails: 'validity.not_expired',
    ...validity((now) => ({ validUntil: past(now, HOUR) })),
  },
  {
    attack: 'The mobile document expired longer ago than clocks differ.',
    fails: 'validity.not_expired',
    ...validity((now) => ({ validUntil: past(now, 62) })),
  },
  {
    attack: 'The mobile document has no end (validUntil).',
    fails: 'validity.not_expired',
    ...validity(() => ({ validUntil: undefined })),
  },
  {
    attack: 'The end of the mobile document (validUntil) is a text without its tag.',
    fails: 'validity.not_expired',
    ...validity(() => ({ validUntil: '2999-01-01T00:00:00Z' })),
  },
  {
    attack: 'The end of the mobile document (validUntil) has no time zone.',
    fails: 'validity.not_expired',
    ...validity(() => ({ validUntil: makeTagged(CBOR_TAG.dateTime, '2999-01-01T00:00:00') })),
  },
  {
    attack: 'The end of the mobile document (validUntil) does not exist.',
    fails: 'validity.not_expired',
    ...validity(() => ({ validUntil: makeTagged(CBOR_TAG.dateTime, '2999-13-01T00:00:00Z') })),
  },
  {
    attack: 'The end of the mobile document (validUntil) is a number.',
    fails: 'validity.not_expired',
    ...validity(() => ({ validUntil: makeTagged(1, 32_472_144_000) })),
  },
  {
    attack: 'The mobile document is not valid yet.',
    fails: 'validity.not_before',
    ...validity((now) => ({ validFrom: past(now, -HOUR) })),
  },
  {
    attack: 'The mobile document is not valid for longer than clocks differ.',
    fails: 'validity.not_before',
    ...validity((now) => ({ validFrom: past(now, -62) })),
  },
  {
    attack: 'The mobile document was signed in the future.',
    fails: 'validity.not_before',
    ...validity((now) => ({ signed: past(now, -HOUR) })),
  },
  {
    attack: 'The mobile document has no beginning (validFrom).',
    fails: 'validity.not_before',
    ...validity(() => ({ validFrom: undefined })),
  },
  {
    attack: 'The mobile document does not say when it was signed.',
    fails: 'validity.not_before',
    ...validity(() => ({ signed: undefined })),
  },
  {
    attack: 'The mobile document has a status, which this release cannot look up.',
    fails: 'status.valid',
    ...mso(
      'status',
      new Map([
        [
          'status_list',
          new Map<CborKey, Cbor>([
            ['idx', 1],
            ['uri', 'https://issuer.example/1'],
          ]),
        ],
      ]),
    ),
  },
  { attack: 'The status of the mobile document is null.', fails: 'status.valid', ...mso('status', null) },
]

const queryAttacks: readonly MdocAttack[] = [
  { attack: 'The security object is of a version that nobody knows.', fails: 'query.format', ...mso('version', '2.0') },
  { attack: 'The security object has no version.', fails: 'query.format', ...mso('version', undefined) },
  {
    attack: 'The document states another type than the issuer signed.',
    fails: 'credential.doc_type',
    change(forgery) {
      forgery.docType = 'org.example.other'
    },
  },
  {
    attack: 'The issuer signed another type than the document states, which is the one that was asked for.',
    fails: 'credential.doc_type',
    query: () => ({ meta: {} }),
    ...mso('docType', 'org.example.other'),
  },
  {
    attack: 'The mobile document is of another type than was asked for.',
    fails: 'query.type',
    change(forgery) {
      forgery.docType = 'org.example.other'
      forgery.mso.set('docType', 'org.example.other')
    },
  },
  {
    attack: 'The type of the mobile document begins with the one that was asked for.',
    fails: 'query.type',
    change(forgery) {
      forgery.docType = `${MDL}.more`
      forgery.mso.set('docType', `${MDL}.more`)
    },
  },
  {
    attack: 'An element that was asked for is not shown.',
    fails: 'query.claims',
    notRun: after.claims,
    change: (forgery) => void removeElement(forgery, 'family_name'),
  },
  {
    attack: 'No element is shown at all.',
    fails: 'query.claims',
    notRun: after.claims,
    change: ({ nameSpaces }) => nameSpaces.clear(),
  },
  {
    attack: 'The element that was asked for is there, but in another namespace.',
    fails: 'query.claims',
    notRun: after.claims,
    query: () => ({ claims: [{ path: [NAMESPACE, 'height'] }] }),
  },
  {
    attack: 'An element has another value than was asked for.',
    fails: 'query.values',
    query: () => ({ claims: [{ path: [NAMESPACE, 'family_name'], values: ['Byron'] }] }),
  },
  {
    attack: 'An element is true, and the text "true" was asked for.',
    fails: 'query.values',
    query: () => ({ claims: [{ path: [NAMESPACE, 'age_over_18'], values: ['true', 1] }] }),
  },
]

const formAttacks: readonly MdocAttack[] = [
  { attack: 'The DeviceResponse is empty.', ...unreadable, ...bytes(() => '') },
  {
    attack: 'The DeviceResponse is base64 with padding.',
    ...unreadable,
    ...bytes((whole) => `${Buffer.from(whole).toString('base64url')}=`),
  },
  {
    attack: 'The DeviceResponse is in hexadecimal.',
    ...unreadable,
    ...bytes((whole) => Buffer.from(whole).toString('hex')),
  },
  { attack: 'The DeviceResponse is JSON.', ...unreadable, ...bytes(() => Buffer.from('{"version":"1.0","status":0}')) },
  { attack: 'The DeviceResponse is cut off.', ...unreadable, ...bytes((whole) => whole.subarray(0, -1)) },
  {
    attack: 'The DeviceResponse has bytes behind it.',
    ...unreadable,
    ...bytes((whole) => Buffer.concat([whole, Buffer.from([0])])),
  },
  {
    attack: 'The DeviceResponse is wrapped in a tag.',
    ...unreadable,
    ...bytes((whole) => encodeCbor(makeTagged(55_799, decodeCbor(whole)))),
  },
  {
    attack: 'The DeviceResponse is embedded in CBOR.',
    ...unreadable,
    ...bytes((whole) => encodeCbor(makeTagged(CBOR_TAG.encoded, whole))),
  },
  {
    attack: 'The DeviceResponse has a member twice.',
    ...unreadable,
    ...bytes((whole) =>
      Buffer.concat([Buffer.from([0xa4]), whole.subarray(1), Buffer.from('6673746174757300', 'hex')]),
    ),
  },
  {
    attack: 'The DeviceResponse is nested deeper than a stack is.',
    ...unreadable,
    ...bytes(() => Buffer.alloc(50_000, 0x81)),
  },
  {
    attack: 'The DeviceResponse is an array of more elements than there is memory.',
    ...unreadable,
    ...bytes(() => Buffer.from('9affffffff00', 'hex')),
  },
  {
    attack: 'The version of the DeviceResponse is one that nobody knows.',
    ...unreadable,
    ...response({ version: '2.0' }),
  },
  { attack: 'The version of the DeviceResponse is a number.', ...unreadable, ...response({ version: 1 }) },
  { attack: 'The DeviceResponse has no version.', ...unreadable, ...response({ version: undefined }) },
  { attack: 'The status of the DeviceResponse is an error (10).', ...unreadable, ...response({ status: 10 }) },
  { attack: 'The DeviceResponse has no status.', ...unreadable, ...response({ status: undefined }) },
  { attack: 'The DeviceResponse has no documents.', ...unreadable, ...response({ documents: undefined }) },
  { attack: 'The DeviceResponse has an empty list of documents.', ...unreadable, ...response({ documents: [] }) },
  { attack: 'The DeviceResponse has a member that nobody knows.', ...unreadable, ...response({ zkDocuments: [] }) },
  {
    attack: 'The DeviceResponse has two documents, the second without any proof.',
    ...unreadable,
    change(forgery) {
      forgery.finish = (document, whole) => {
        const other = new Map(document)
        other.delete('deviceSigned')
        whole.set('documents', [document, other])
      }
    },
  },
  {
    attack: 'The document has a member that nobody knows.',
    ...unreadable,
    change(forgery) {
      forgery.finish = (document) => void document.set('issuerSigned2', 1)
    },
  },
  {
    attack: 'The document has no issuerSigned.',
    ...unreadable,
    change(forgery) {
      forgery.finish = (document) => void document.delete('issuerSigned')
    },
  },
  {
    attack: 'The document has a number for its type.',
    ...unreadable,
    change(forgery) {
      forgery.finish = (document) => void document.set('docType', 7)
    },
  },
  {
    attack: 'An element is not embedded CBOR.',
    ...unreadable,
    change(forgery) {
      forgery.finish = (document) => {
        const issuerSigned = membersOf(document.get('issuerSigned'))
        issuerSigned.set('nameSpaces', new Map([[NAMESPACE, [itemOf(forgery, 'given_name').item]]]))
        document.set('issuerSigned', issuerSigned)
      }
    },
  },
  {
    attack: 'The payload of the signature of the issuer is detached.',
    ...unreadable,
    change(forgery) {
      forgery.seal = ([header = null, unprotected = null, , signature = null]) => [header, unprotected, null, signature]
    },
  },
  {
    attack: 'The signature of the issuer is a COSE_Mac0 by its tag.',
    ...unreadable,
    change(forgery) {
      forgery.seal = (issuerAuth) => makeTagged(17, issuerAuth)
    },
  },
  {
    attack: 'The signature of the issuer has a critical header.',
    ...unreadable,
    change: ({ issuerAuth }) => void issuerAuth.protectedHeader.set(2, [99]).set(99, 1),
  },
  {
    attack: 'The security object is embedded twice.',
    ...unreadable,
    change(forgery) {
      forgery.seal = ([header = null, unprotected = null, payload, signature = null]) => [
        header,
        unprotected,
        encodeCbor(embedCbor(decodeCbor(payload as Uint8Array))),
        signature,
      ]
    },
  },
  { attack: 'The security object has no type.', ...unreadable, ...mso('docType', undefined) },
  { attack: 'The security object has no digests.', ...unreadable, ...mso('valueDigests', undefined) },
  { attack: 'The security object has no validity.', ...unreadable, ...mso('validityInfo', undefined) },
  { attack: 'The security object says nothing of a device key.', ...unreadable, ...mso('deviceKeyInfo', undefined) },
]

export const mdocDocumentAttacks: readonly MdocAttack[] = [
  ...elementAttacks,
  ...validityAttacks,
  ...queryAttacks,
  ...formAttacks,
]
