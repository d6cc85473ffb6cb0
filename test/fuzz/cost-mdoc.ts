/** Presentations of mobile documents that grow: signed as they should be, whatever has grown in them. */
import { type Cbor, type CborKey, encodeCbor, isMap } from '../../src/codec/cbor.ts'
import { isObject, type Json } from '../../src/codec/json.ts'
import { digestItem } from '../../src/credential/mso-mdoc/elements.ts'
import {
  bindingOf,
  deviceOf,
  digestsOf,
  type MdocForgery,
  makeMdocForgery,
  mdocProfile,
  NAMESPACE,
  putMdocTogether,
} from '../support/mdoc.ts'
import type { RequestObject } from '../support/wire.ts'
import { grownCertificates } from './cost-certificates.ts'
import type { CostWorld } from './cost-world.ts'
import { type Growth, grownFrom, grownText, grownValue } from './growth.ts'

const MSO = [
  'version',
  'digestAlgorithm',
  'docType',
  'valueDigests',
  'deviceKeyInfo',
  'validityInfo',
  'status',
  'extra',
]
const DEVICE = ['deviceKeyInfo.keyAuthorizations', 'deviceKeyInfo.keyAuthorizations.nameSpaces', 'validityInfo.signed']
const LISTED = ['deviceKeyInfo.keyAuthorizations.dataElements', 'status.status_list', 'status.status_list.uri']

export const mdocPlaces: readonly string[] = [
  ...[...MSO, ...DEVICE, ...LISTED].map((name) => `mso.${name}`),
  ...[
    'response.version',
    'response.status',
    'response.documentErrors',
    'response.extra',
    'docType',
    'stated',
    'stated',
  ],
  ...[
    'items',
    'items',
    'item',
    'namespaces',
    'x5c',
    'x5c',
    'issuerHeader',
    'deviceHeader',
    'unprotected',
    'authorized',
  ],
  ...['text.start', 'text.end', 'bytes.array', 'bytes.map', 'bytes.tag', 'bytes.text'],
]

/** Makes a presentation for the request in which everything has grown that is to. */
export async function grownMdoc(world: CostWorld, request: RequestObject, growths: readonly Growth[]): Promise<string> {
  const credential = world.credentials.get('mso_mdoc') ?? ''
  const held = { ...world.world, profile: mdocProfile, credential }
  const forgery = await makeMdocForgery(held, bindingOf(request, world.world.services.clock.now))
  for (const growth of growths) {
    if (growth.place.startsWith('mso.')) put(forgery.mso, growth.place.split('.').slice(1), growth)
    else if (growth.place.startsWith('response.')) put(forgery.response, [growth.place.slice(9)], growth)
    else if (growth.place === 'x5c')
      forgery.issuerAuth.unprotectedHeader.set(
        33,
        grownCertificates(held, growth).map((der) => new Uint8Array(der)),
      )
    else grow(forgery, growth)
  }
  return putMdocTogether(forgery)
}

function grow(forgery: MdocForgery, growth: Growth): void {
  const { place, size } = growth
  const value = cborOf(grownValue(growth))
  const { issuerAuth, mso, nameSpaces } = forgery
  if (place === 'docType') forgery.docType = grownText(growth)
  else if (place === 'items') addItems(forgery, Math.min(size, 3000), 1)
  else if (place === 'item') addItems(forgery, 1, value)
  else if (place === 'namespaces') for (let at = 0; at < Math.min(size, 2000); at++) nameSpaces.set(`n${at}`, [])
  else if (place === 'issuerHeader') issuerAuth.protectedHeader.set('x', value)
  else if (place === 'unprotected') issuerAuth.unprotectedHeader.set('x', value)
  else if (place === 'deviceHeader') deviceOf(forgery).protectedHeader.set('x', value)
  else if (place === 'stated') deviceOf(forgery).nameSpaces.set('n', isMap(value) ? value : new Map([['a', value]]))
  else if (place === 'authorized') {
    const names = Array.from({ length: Math.min(size, 9000) }, (_, at) => `${growth.prefix}${at}`)
    deviceOf(forgery).nameSpaces.set('n', new Map(names.map((name) => [name, 1])))
    authorize(mso, [...names].reverse())
  } else if (place === 'text.start')
    forgery.afterwards = (bytes) => grownText(growth) + Buffer.from(bytes).toString('base64url')
  else if (place === 'text.end')
    forgery.afterwards = (bytes) => Buffer.from(bytes).toString('base64url') + grownText(growth)
  else forgery.afterwards = () => bytesOf(growth)
}

/** Makes bytes that are little but heads of CBOR: arrays in arrays, maps in maps, tags of tags, empty texts. */
function bytesOf({ place, size, fill }: Growth): Uint8Array {
  const count = Math.min(size, 350_000)
  const head = { 'bytes.array': 0x81, 'bytes.map': 0xa1, 'bytes.tag': 0xd8 }[place] ?? 0x60
  const flat = fill.length % 2 === 0
  if (!flat) return Buffer.alloc(count, head)
  return Buffer.concat([
    Buffer.from('9a', 'hex'),
    Buffer.from(count.toString(16).padStart(8, '0'), 'hex'),
    Buffer.alloc(count, head === 0x60 ? 0x60 : 0x80),
  ])
}

/** Adds elements to the namespace, whose digests the issuer signs. */
function addItems(forgery: MdocForgery, count: number, value: Cbor): void {
  const digests = digestsOf(forgery)
  const items = forgery.nameSpaces.get(NAMESPACE) ?? []
  for (let at = 0; at < count; at++) {
    const item = new Map<CborKey, Cbor>([
      ['digestID', 10_000 + at],
      ['random', new Uint8Array(16)],
      ['elementIdentifier', `e${at}`],
      ['elementValue', value],
    ])
    const bytes = encodeCbor(item)
    items.push(bytes)
    digests.set(10_000 + at, digestItem(bytes))
  }
  forgery.nameSpaces.set(NAMESPACE, items)
}

function authorize(mso: Map<CborKey, Cbor>, names: readonly string[]): void {
  const info = mso.get('deviceKeyInfo')
  const authorizations = new Map([['dataElements', new Map([['n', names]])]])
  if (isMap(info)) mso.set('deviceKeyInfo', new Map([...info, ['keyAuthorizations', authorizations]]))
}

function put(map: Map<CborKey, Cbor>, path: readonly string[], growth: Growth): void {
  const [name = '', ...rest] = path
  const inner = map.get(name)
  if (rest.length === 0) {
    const value = cborOf(grownFrom(typeof inner === 'string' ? inner : undefined, growth))
    map.set(name, growth.isAdded && isMap(inner) && isMap(value) ? new Map([...inner, ...value]) : value)
    return
  }
  const members = new Map(isMap(inner) ? inner : [])
  map.set(name, members)
  put(members, rest, growth)
}

function cborOf(value: Json): Cbor {
  if (Array.isArray(value)) return value.map(cborOf)
  return isObject(value) ? new Map(Object.entries(value).map(([name, member]) => [name, cborOf(member)])) : value
}
