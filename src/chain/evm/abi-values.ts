/** Converts JSON values to arguments of the types of an ABI. */
import { hexToBytes } from '@noble/hashes/utils.js'
import { type Json, memberOf } from '../../codec/json.ts'

export interface AbiParameter {
  readonly name?: string
  readonly type: string
  readonly components?: readonly AbiParameter[]
}

/**
 * Converts `json` to an argument of the parameter's type. Throws an Error for people when `json` is not of that type.
 */
export function toArgument(parameter: AbiParameter, json: Json): unknown {
  const { type, name = '' } = parameter
  const [, inner, length] = /^(.*)\[(\d*)\]$/.exec(type) ?? []
  if (inner !== undefined) {
    if (!Array.isArray(json) || (length !== '' && json.length !== Number(length)))
      return refuseValue(parameter, 'a list')
    return json.map((element) => toArgument({ ...parameter, type: inner }, element))
  }
  if (type === 'tuple') return toTuple(parameter, json)
  if (type === 'bool')
    return typeof json === 'boolean' ? json : (boolOf(json) ?? refuseValue(parameter, 'true or false'))
  if (type === 'string') return typeof json === 'string' ? json : refuseValue(parameter, 'a text')
  if (type === 'address') return addressText(json) ?? refuseValue(parameter, 'an address')
  if (/^u?int/.test(type)) return integerOf(json) ?? refuseValue(parameter, 'a whole number')
  if (type.startsWith('bytes'))
    return bytesOf(type, json) ?? refuseValue(parameter, 'bytes in hexadecimal, of that length')
  throw new Error(`${name}: values of type ${type} cannot be given here`)
}

function refuseValue({ name, type }: AbiParameter, expected: string): never {
  throw new Error(`${name === undefined || name === '' ? 'an argument' : name} (${type}) must be ${expected}`)
}

function toTuple(parameter: AbiParameter, json: Json): unknown {
  const components = parameter.components ?? []
  const members = components.map((component, at) => {
    const member = Array.isArray(json) ? json[at] : memberOf(json, component.name ?? '')
    if (member === undefined) refuseValue(parameter, `an object with ${components.map(({ name }) => name).join(', ')}`)
    return [component.name ?? '', toArgument(component, member ?? null)] as const
  })
  return components.every(({ name }) => (name ?? '') !== '')
    ? Object.fromEntries(members)
    : members.map(([, value]) => value)
}

function boolOf(json: Json): boolean | undefined {
  return json === 'true' ? true : json === 'false' ? false : undefined
}

/**
 * Returns an address as 0x and digits. Accepts 20 bytes, or the 21 bytes of an engine's notation; undefined for any
 * other value.
 */
function addressText(json: Json): string | undefined {
  const [, digits] = (typeof json === 'string' ? /^(?:0x|00)?([0-9a-f]{40})$/i.exec(json) : undefined) ?? []
  return digits === undefined ? undefined : `0x${digits.toLowerCase()}`
}

function integerOf(json: Json): bigint | undefined {
  if (typeof json === 'number') return Number.isSafeInteger(json) ? BigInt(json) : undefined
  return typeof json === 'string' && /^(-?\d{1,78}|0x[0-9a-f]{1,64})$/i.test(json) ? BigInt(json) : undefined
}

function bytesOf(type: string, json: Json): Uint8Array | undefined {
  if (typeof json !== 'string' || !/^(0x)?([0-9a-f]{2})*$/i.test(json)) return undefined
  const bytes = hexToBytes(json.replace(/^0x/i, ''))
  return type === 'bytes' || bytes.length === Number(type.slice('bytes'.length)) ? bytes : undefined
}
