/**
 * Distinguished names: formats them as text, and encodes them for new certificates. Names are compared by their DER,
 * not by their text. RFC 5280 section 4.1.2.4, RFC 4514.
 */
import {
  DER_TAG,
  type DerValue,
  readOid,
  readSequence,
  readString,
  refuseMoreMembers,
  takeMember,
  writeDer,
  writeOid,
  writeSequence,
  writeSet,
} from '../codec/der.ts'
import { malformed } from '../codec/malformed.ts'
import { cutText, escapeControls, shortenText } from '../codec/untrusted-text.ts'

const OID_OF = {
  CN: '2.5.4.3',
  serialNumber: '2.5.4.5',
  C: '2.5.4.6',
  L: '2.5.4.7',
  ST: '2.5.4.8',
  street: '2.5.4.9',
  O: '2.5.4.10',
  OU: '2.5.4.11',
  organizationIdentifier: '2.5.4.97',
  DC: '0.9.2342.19200300.100.1.25',
  emailAddress: '1.2.840.113549.1.9.1',
} as const

export type NameAttribute = readonly [type: keyof typeof OID_OF, text: string]

const TYPE_OF: ReadonlyMap<string, string> = new Map(Object.entries(OID_OF).map(([type, oid]) => [oid, type]))
const STRINGS: readonly number[] = [
  DER_TAG.utf8String,
  DER_TAG.printableString,
  DER_TAG.teletexString,
  DER_TAG.ia5String,
  DER_TAG.bmpString,
]
/** The maximum number of attributes of a name. */
const MAX_ATTRIBUTES = 64

/**
 * Formats a name as in `CN=Example University, C=DE`: in reverse order (RFC 4514), shortened, and safe to log. Throws a
 * MalformedError for an invalid name, or one with more than 64 attributes.
 */
export function nameText(name: DerValue): string {
  const relatives = readSequence(name)
  if (relatives.reduce((count, { children }) => count + children.length, 0) > MAX_ATTRIBUTES)
    malformed(`the name has more than ${MAX_ATTRIBUTES} attributes`)
  const parts = relatives.map(relativeNameText)
  return shortenText(parts.reverse().join(', '))
}

/** Encodes a name with one attribute per RDN, such as `[['C', 'DE'], ['CN', 'Example University']]`. */
export function writeName(attributes: readonly NameAttribute[]): Buffer {
  const parts = attributes.map(([type, text]) => {
    const tag =
      type === 'C' ? DER_TAG.printableString : type === 'DC' || type === 'emailAddress' ? DER_TAG.ia5String : undefined
    return writeSet(
      writeSequence(writeOid(OID_OF[type]), writeDer(tag ?? DER_TAG.utf8String, Buffer.from(text, 'utf8'))),
    )
  })
  return writeSequence(...parts)
}

function relativeNameText(relative: DerValue): string {
  if (relative.tag !== DER_TAG.set || relative.children.length === 0)
    malformed('a part of the name is not a set of attributes')
  return relative.children.map(attributeText).join('+')
}

function attributeText(attribute: DerValue): string {
  const members = readSequence(attribute)
  const oid = readOid(takeMember(members, DER_TAG.oid))
  const value = members.shift() ?? malformed(`the attribute ${oid} of the name has no value`)
  refuseMoreMembers(members)
  const text = STRINGS.includes(value.tag)
    ? escapeText(cutText(readString(value)))
    : `#${cutText(value.der.toString('hex'))}`
  return `${TYPE_OF.get(oid) ?? oid}=${text}`
}

/**
 * Escapes a text by RFC 4514 section 2.4, and removes control and format characters, which could change how a log line
 * is displayed.
 */
function escapeText(text: string): string {
  return escapeControls(text.replace(/[\\,+"<>;]/g, '\\$&'))
}
