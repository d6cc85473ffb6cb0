import { randomBytes } from 'node:crypto'
import { beforeAll, describe, expect, it } from 'vitest'
import { configurationOf } from '../../../test/support/configuration.ts'
import { newBareSigner, orderBinding, orderFor } from '../../../test/support/order.ts'
import { fromBase64url, toBase64url } from '../../codec/base64url.ts'
import {
  asMap,
  CBOR_TAG,
  type Cbor,
  type CborKey,
  decodeCbor,
  encodeCbor,
  makeTagged,
  readEmbedded,
} from '../../codec/cbor.ts'
import type { Json, JsonObject } from '../../codec/json.ts'
import { MalformedError } from '../../codec/malformed.ts'
import type { Signer } from '../../keys/signer.ts'
import { ProtocolError } from '../../protocol/error.ts'
import { findQueryMistakes } from '../formats.ts'
import { digestItem } from './elements.ts'
import { msoMdoc } from './index.ts'
import { readIssuerSigned } from './issuer-signed.ts'
import { toCbor, toJson } from './values.ts'

const NAMESPACE = 'org.iso.18013.5.1'
const DOCTYPE = 'org.iso.18013.5.1.mDL'
const configuration = { format: 'mso_mdoc', doctype: DOCTYPE }
const elements: JsonObject = {
  family_name: 'Lovelace',
  birth_date: '1815-12-10',
  issue_date: '2026-06-01T00:00:00Z',
  portrait: 'data:image/jpeg;base64,/9j/4A==',
  driving_privileges: [{ vehicle_category_code: 'B', expiry_date: '2036-01-31' }],
  age_over_18: true,
  height: 167,
}

function partsOf(credential: string) {
  const { nameSpaces, mso, issuerAuth } = readIssuerSigned(decodeCbor(fromBase64url(credential)))
  const items = [...nameSpaces.values()].flat()
  return { items, mso: asMap(readEmbedded(decodeCbor(mso.bytes), 'it'), 'it'), issuerAuth }
}

describe('mobile documents', () => {
  let signer: Signer
  beforeAll(async () => {
    signer = await newBareSigner()
  })

  const orderOf = (dataset: JsonObject = { [NAMESPACE]: elements }) => orderFor(configuration, dataset, signer)
  const issue = (dataset?: JsonObject) => msoMdoc.issue(orderOf(dataset), signer, randomBytes)

  describe('a credential', () => {
    it('has a security object with every digest, the key of the device and times in whole seconds', async () => {
      const { items, mso, issuerAuth } = partsOf(await issue({ [NAMESPACE]: elements, 'org.example': { a: 1 } }))
      expect(issuerAuth.alg).toBe(-7)
      expect([...mso.keys()].sort()).toEqual(
        ['version', 'digestAlgorithm', 'valueDigests', 'deviceKeyInfo', 'docType', 'validityInfo'].sort(),
      )
      expect([mso.get('version'), mso.get('digestAlgorithm'), mso.get('docType')]).toEqual(['1.0', 'SHA-256', DOCTYPE])
      const time = (text: string) => makeTagged(CBOR_TAG.dateTime, text)
      expect(mso.get('validityInfo')).toEqual(
        new Map([
          ['signed', time('2026-06-01T12:00:00Z')],
          ['validFrom', time('2026-06-01T12:00:00Z')],
          ['validUntil', time('2027-06-01T00:00:00Z')],
        ]),
      )
      const digests = [...asMap(mso.get('valueDigests'), 'it').values()].flatMap((each) => [
        ...asMap(each, 'it').values(),
      ])
      const hex = (bytes: Cbor) => Buffer.from(bytes as Uint8Array).toString('hex')
      expect(digests.map(hex).sort()).toEqual(items.map((item) => digestItem(item).toString('hex')).sort())
    })

    it('numbers its elements in an order that says nothing, with 16 random bytes each', async () => {
      const orders = new Set<string>()
      const names = Object.fromEntries(Array.from({ length: 8 }, (_, at) => [`e${at}`, at]))
      for (let run = 0; run < 5; run++) {
        const items = partsOf(await issue({ [NAMESPACE]: names })).items.map((item) => asMap(decodeCbor(item), 'it'))
        const ids = items.map((item) => Number(item.get('digestID')))
        expect([...ids].sort()).toEqual([0, 1, 2, 3, 4, 5, 6, 7])
        for (const item of items) expect(item.get('random')).toHaveLength(16)
        orders.add(ids.join())
      }
      expect(orders.size).toBeGreaterThan(3)
    })

    it('takes that order from random bytes that it does not show', async () => {
      const names = Object.fromEntries(Array.from({ length: 8 }, (_, at) => [`e${at}`, at]))
      // The random of each element, and then four bytes for each, each less than those before.
      const random = (length: number) => {
        const bytes = Buffer.alloc(length)
        for (let at = 0; at < 8; at++) bytes.writeUInt32BE(8 - at, 8 * 16 + at * 4)
        return bytes
      }
      const credential = await msoMdoc.issue(orderOf({ [NAMESPACE]: names }), signer, random)
      const items = partsOf(credential).items.map((item) => asMap(decodeCbor(item), 'it'))
      expect(items.map((item) => item.get('digestID'))).toEqual([7, 6, 5, 4, 3, 2, 1, 0])
      expect(items.map((item) => item.get('random'))).toEqual(items.map(() => new Uint8Array(16)))
    })

    it('has each element in the order of its definition, in which some wallets write it again', async () => {
      const dataset = { [NAMESPACE]: { given_name: 'Ada' } }
      const credential = await msoMdoc.issue(orderOf(dataset), signer, (length) => Buffer.alloc(length))
      // The bytes that VC-K 5.11 makes of the element when it presents it.
      const written = `a4686469676573744944006672616e646f6d50${'00'.repeat(16)}71656c656d656e744964656e7469666965726a676976656e5f6e616d656c656c656d656e7456616c756563416461`
      expect(partsOf(credential).items.map((item) => Buffer.from(item).toString('hex'))).toEqual([written])
    })

    it('has the members of a value in the order of the dataset', async () => {
      const privilege = { vehicle_category_code: 'B', issue_date: '2026-01-31', expiry_date: '2036-01-31', codes: [] }
      const { items } = partsOf(await issue({ [NAMESPACE]: { driving_privileges: [privilege] } }))
      const [value] = items.map((item) => asMap(decodeCbor(item), 'it').get('elementValue') as readonly Cbor[])
      expect([...asMap(value?.[0], 'it').keys()]).toEqual(Object.keys(privilege))
    })

    it('has up to 32 namespaces and 1,000 elements', async () => {
      const named = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, at) => [`e${at}`, at]))
      const spaces = Array.from({ length: 32 }, (_, at) => [`org.example.${at}`, named(at === 0 ? 969 : 1)] as const)
      const dataset = Object.fromEntries(spaces)
      msoMdoc.refuseInvalidDataset(dataset, configurationOf(configuration))
      expect(partsOf(await issue(dataset)).items).toHaveLength(1000)
    })

    it('is what was ordered, however dates and bytes were written, and nothing else', async () => {
      const credential = await issue()
      const portrait = '_9j_4A'
      expect(msoMdoc.matchesOrder(orderOf(), credential)).toBe(true)
      expect(msoMdoc.matchesOrder(orderOf({ [NAMESPACE]: { ...elements, portrait } }), credential)).toBe(true)
      expect(msoMdoc.matchesOrder(orderOf({ [NAMESPACE]: { ...elements, height: 168 } }), credential)).toBe(false)
      expect(msoMdoc.matchesOrder(orderOf({ [NAMESPACE]: elements, more: { a: 1 } }), credential)).toBe(false)
      expect(
        msoMdoc.matchesOrder(
          { ...orderOf(), configuration: configurationOf({ ...configuration, doctype: 'other' }) },
          credential,
        ),
      ).toBe(false)
      expect(() => msoMdoc.matchesOrder(orderOf(), 'AA')).toThrow(MalformedError)
    })

    it('can leave out each element by itself', async () => {
      const held = msoMdoc.readHeld(await issue({ [NAMESPACE]: elements, 'org.iso.23220.photoid.1': { a: { b: 1 } } }))
      expect(held.disclosable).toEqual([
        ...Object.keys(elements).map((name) => [NAMESPACE, name]),
        ['org.iso.23220.photoid.1', 'a'],
      ])
      const presentation = await msoMdoc.present(
        await issue(),
        [[NAMESPACE, 'driving_privileges', 0]],
        orderBinding,
        signer,
      )
      expect(Object.keys(msoMdoc.read(presentation).claims[NAMESPACE] as JsonObject)).toEqual(['driving_privileges'])
    })

    it('says nothing of a namespace of which nothing is shown', async () => {
      const credential = await issue({ [NAMESPACE]: elements, 'org.example': { a: 1 } })
      const shown = async (place: readonly string[]) => {
        const response = decodeCbor(fromBase64url(await msoMdoc.present(credential, [place], orderBinding, signer)))
        const [document] = asMap(response, 'it').get('documents') as readonly Cbor[]
        const nameSpaces = asMap(asMap(document, 'it').get('issuerSigned'), 'it').get('nameSpaces')
        return nameSpaces === undefined ? undefined : [...asMap(nameSpaces, 'it').keys()]
      }
      expect(await shown(['org.example'])).toEqual(['org.example'])
      expect(await shown(['org.example', 'b'])).toBe(undefined)
    })

    it('is presented with a proof that says nothing of what the device did not sign by itself', async () => {
      const { holder } = msoMdoc.read(await msoMdoc.present(await issue(), [[]], orderBinding, signer))
      expect(holder).toMatchObject({
        ...{ problem: undefined, nonce: undefined, audience: undefined, presentedAt: undefined },
        ...{ validity: { notBefore: [], notAfter: [] }, coversPresentation: false },
      })
      expect([holder?.approvalProblem([], []), holder?.approvalProblem(['a'], ['a'])]).toEqual([
        undefined,
        'its format has no approvals',
      ])
    })

    it('may be presented with longer lengths than needed, where nothing is signed', async () => {
      const presentation = fromBase64url(await msoMdoc.present(await issue(), [[]], orderBinding, signer))
      // A map of three, and the same with its length in a byte of its own.
      expect(presentation[0]).toBe(0xa3)
      const longer = toBase64url(Buffer.concat([Uint8Array.of(0xb8, 3), presentation.subarray(1)]))
      expect(msoMdoc.read(longer).claims).toEqual({ [NAMESPACE]: expect.anything() as unknown })
    })

    it('is not held when an element was changed, or its version is another', async () => {
      const whole = new Map(asMap(decodeCbor(fromBase64url(await issue())), 'it'))
      whole.set(
        'nameSpaces',
        new Map([[NAMESPACE, [makeTagged(CBOR_TAG.encoded, encodeCbor(new Map([['digestID', 0]])))]]]),
      )
      expect(() => msoMdoc.readHeld(toBase64url(encodeCbor(whole)))).toThrow(MalformedError)
    })
  })

  describe('the value of an element', () => {
    it.each<[string, string, Json, Cbor]>([
      [NAMESPACE, 'birth_date', '1815-12-10', makeTagged(1004, '1815-12-10')],
      [NAMESPACE, 'expiry_date', '2026-01-01T00:00:00Z', makeTagged(0, '2026-01-01T00:00:00Z')],
      [NAMESPACE, 'portrait', '/9j/4A==', Buffer.from('ffd8ffe0', 'hex')],
      [NAMESPACE, 'biometric_template_face', '_9j_4A', Buffer.from('ffd8ffe0', 'hex')],
      [NAMESPACE, 'given_name', '1815-12-10', '1815-12-10'],
      ['eu.europa.ec.eudi.pid.1', 'issuance_date', '2026-01-01', makeTagged(1004, '2026-01-01')],
      ['org.example', 'birth_date', '1815-12-10', '1815-12-10'],
      ['org.example', 'portrait', 'x', 'x'],
      ['org.example', 'n', [1, -1, 1.5, true, null], [1, -1, 1.5, true, null]],
    ])('%s %s %j is issued in its own type', (nameSpace, name, value, cbor) => {
      const made = toCbor(value, nameSpace, name)
      expect(Buffer.from(encodeCbor(made)).toString('hex')).toBe(Buffer.from(encodeCbor(cbor)).toString('hex'))
    })

    it.each<[Cbor, Json]>([
      [Uint8Array.of(255, 254), '__4'],
      [2n ** 60n, '1152921504606846976'],
      [makeTagged(1, 1_700_000_000), 1_700_000_000],
      [makeTagged(CBOR_TAG.encoded, Uint8Array.of(1)), 'AQ'],
      [new Map<CborKey, Cbor>([[1, [makeTagged(0, 'x')]]]), { '1': ['x'] }],
    ])('is read as JSON: %#', (cbor, json) => expect(toJson(cbor)).toEqual(json))
  })

  it.each<[string, JsonObject]>([
    ['doctype', {}],
    ['doctype', { doctype: '' }],
    ['vct', { doctype: DOCTYPE, vct: 'a' }],
    ['credential_definition', { doctype: DOCTYPE, credential_definition: {} }],
    ['selective_disclosure', { doctype: DOCTYPE, selective_disclosure: 'none' }],
    ['selective_disclosure', { doctype: DOCTYPE, selective_disclosure: [[NAMESPACE, 'portrait']] }],
  ])('a configuration is refused for its %s', (path, made) => {
    expect(() => configurationOf({ format: 'mso_mdoc', ...made })).toThrow(ProtocolError)
    expect(() => configurationOf({ format: 'mso_mdoc', ...made })).toThrow(`${path}: `)
  })

  it('a configuration of which an issuer says no type asks for a type that nobody has', () => {
    expect(msoMdoc.metaOf({ format: 'mso_mdoc' })).toEqual({ doctype_value: '' })
  })

  it('a dataset has its limits', () => {
    const many = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, at) => [`n${at}`, { a: at }]))
    const check = (dataset: JsonObject) => () => msoMdoc.refuseInvalidDataset(dataset, configurationOf(configuration))
    check({ a: Object.fromEntries(Array.from({ length: 1000 }, (_, at) => [`e${at}`, at])) })()
    expect(check(many(33))).toThrow(/32 namespaces/)
    expect(check({ a: Object.fromEntries(Array.from({ length: 1001 }, (_, at) => [`e${at}`, at])) })).toThrow(/1000 el/)
    expect(check({ a: { b: Array<Json>(3000).fill(0) } })).toThrow(/more than 3000 values/)
    expect(check({ a: { b: JSON.parse(`${'['.repeat(20)}1${']'.repeat(20)}`) as Json } })).toThrow(/nested deeper/)
  })

  it.each<[string, JsonObject]>([
    ['q.meta.type_values', { meta: { type_values: [] } }],
    ['q.meta.vct_values', { meta: { vct_values: [] } }],
    ['q.meta.doctype_value', { meta: { doctype_value: 7 } }],
    ['q.meta.doctype_value', { meta: { doctype_value: '' } }],
    ['q.claims[0].path', { claims: [{ path: ['a'] }] }],
    ['q.claims[0].path', { claims: [{ path: ['a', 'b', 'c'] }] }],
    ['q.claims[0].path', { claims: [{ path: ['a', null] }] }],
    ['q.claims[1].path', { claims: [{ path: ['a', 'b'] }, { path: ['a', 0] }] }],
    ['q.claims[0].intent_to_retain', { claims: [{ path: ['a', 'b'], intent_to_retain: 'yes' }] }],
  ])('a query is told what is wrong at %s', (path, query) => {
    const [mistake, ...more] = findQueryMistakes(msoMdoc, { meta: {}, ...query }, 'q')
    expect([mistake?.split(':')[0], more]).toEqual([path, []])
  })
})
