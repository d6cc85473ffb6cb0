/**
 * Redacts a configuration for support: keeps the names of known settings, and only those values that cannot be secrets.
 * All else is left out, since keys are sometimes pasted into wrong settings.
 */
import { isIP } from 'node:net'
import { isObject } from '../../codec/json.ts'

/** The used parts of a settings schema. */
export interface SettingsSchema {
  readonly properties?: Readonly<Record<string, SettingsSchema>>
  readonly items?: SettingsSchema
  readonly anyOf?: readonly SettingsSchema[]
  readonly const?: unknown
  readonly type?: string
}

const PATH = /(File|Files|[dD]irectory|TrustAnchors|module)$/
const URL_NAME = /(url|Url|Uri|issuer|id|endpoint)$/
const LEFT_OUT = '(set)'

/** Redacts a setting. `exists` tests whether a path exists. */
export function redactSettings(
  schema: SettingsSchema,
  value: unknown,
  exists: (path: string) => boolean,
  name = '',
): unknown {
  const { properties, items, anyOf } = schema
  if (anyOf !== undefined) return redactSettings(chooseSchema(anyOf, value), value, exists, name)
  if (schema.const !== undefined) return value === schema.const ? value : LEFT_OUT
  if (isObject(value)) return redactObject(properties, value, exists)
  if (Array.isArray(value)) {
    return items === undefined ? LEFT_OUT : value.map((each: unknown) => redactSettings(items, each, exists, name))
  }
  if (typeof value === 'number' || typeof value === 'boolean') {
    return schema.type === typeof value || schema.type === 'integer' ? value : LEFT_OUT
  }
  return typeof value === 'string' && schema.type === 'string' ? redactText(value, name, exists) : LEFT_OUT
}

/** Redacts the members in the schema, and counts all others, whose names may be secrets. */
function redactObject(
  properties: SettingsSchema['properties'] = {},
  value: Readonly<Record<string, unknown>>,
  exists: (path: string) => boolean,
): object {
  const shownMembers = Object.entries(value).flatMap(([name, member]) => {
    const schema = Object.hasOwn(properties, name) ? properties[name] : undefined
    return schema === undefined ? [] : [[name, redactSettings(schema, member, exists, name)] as const]
  })
  const others = Object.keys(value).length - shownMembers.length
  return { ...Object.fromEntries(shownMembers), ...(others > 0 ? { '(members left out)': others } : {}) }
}

function chooseSchema(choices: readonly SettingsSchema[], value: unknown): SettingsSchema {
  const type = Array.isArray(value) ? 'array' : typeof value
  return (
    choices.find((choice) => choice.const !== undefined && choice.const === value) ??
    choices.find((choice) => choice.const === undefined && choice.type === type) ??
    {}
  )
}

function redactText(text: string, name: string, exists: (path: string) => boolean): string {
  if (PATH.test(name)) return exists(text) ? text : '(a path that leads nowhere)'
  if (name === 'host') return isIP(text) > 0 || text === 'localhost' ? text : LEFT_OUT
  return URL_NAME.test(name) || name === 'baseUrl' ? addressOf(text) : LEFT_OUT
}

/** Returns the scheme and the host of a URL. */
function addressOf(text: string): string {
  const address = text.replace(/^jdbc:/, '')
  if (!URL.canParse(address)) return LEFT_OUT
  const { protocol, host, pathname, search } = new URL(address)
  if (host === '') return `${protocol}…`
  return `${protocol}//${host}${(pathname === '/' || pathname === '') && search === '' ? '' : '/…'}`
}
