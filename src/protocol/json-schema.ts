/** Compiles JSON Schemas, and describes validation errors as sentences. */
import { Ajv, type ErrorObject, type ValidateFunction } from 'ajv'
import { isObject, type Json, memberOf } from '../codec/json.ts'
import { nearestName } from '../codec/misspelling.ts'

/** The maximum length of a member name in messages. */
const MAX_NAME = 48
/** The maximum number of members that are searched for a misspelt one. */
const MAX_SEARCHED = 200

/** The types of JSON Schema in words. */
const TYPES: Readonly<Record<string, string>> = {
  string: 'a string',
  integer: 'an integer',
  number: 'a number',
  boolean: 'true or false',
  array: 'an array',
  object: 'an object',
}
/** The rules of JSON Schema in words, by keyword; any other rule has the words of the library. */
const RULES: Readonly<Record<string, (limit: number) => string>> = {
  minimum: (limit) => `must be at least ${limit}`,
  maximum: (limit) => `must be at most ${limit}`,
  exclusiveMinimum: (limit) => `must be more than ${limit}`,
  minLength: (limit) => (limit === 1 ? 'must not be empty' : `must have at least ${limit} characters`),
  maxLength: (limit) => `must have at most ${limit} characters`,
  minItems: (limit) => (limit === 1 ? 'must not be empty' : `must have at least ${limit} entries`),
  maxItems: (limit) => `must have at most ${limit} entries`,
  minProperties: (limit) => (limit === 1 ? 'must not be empty' : `must have at least ${limit} members`),
  maxProperties: (limit) => `must have at most ${limit} members`,
  uniqueItems: () => 'must not have an entry twice',
}

const validators = { first: new WeakMap<object, ValidateFunction>(), all: new WeakMap<object, ValidateFunction>() }

/**
 * Compiles a schema, and caches the result. With `all`, the function reports all mistakes instead of the first. The
 * schema itself is not validated (tests do that), and the generated code is not optimized, since both would slow down
 * the start.
 */
export function compileSchema(schema: object, { all }: { readonly all: boolean }): ValidateFunction {
  const validatorsBySchema = validators[all ? 'all' : 'first']
  const validate = validatorsBySchema.get(schema) ?? compileUncached(schema, all)
  validatorsBySchema.set(schema, validate)
  return validate
}

function compileUncached(schema: object, all: boolean): ValidateFunction {
  // `verbose` adds the schema to each error, which has the known member names.
  const ajv = new Ajv({
    allErrors: all,
    verbose: true,
    strict: false,
    meta: false,
    validateSchema: false,
    code: { optimize: false },
  })
  return ajv.compile(schema)
}

/**
 * Returns the schema without the rules for members that `value` lacks; their names remain. This saves compiling the
 * rules of all settings at the start.
 */
export function dropAbsentMembers<Schema extends { readonly properties?: object }>(
  schema: Schema,
  value: unknown,
): Schema {
  if (schema.properties === undefined || !isObject(value)) return schema
  const rules = Object.entries(schema.properties as Readonly<Record<string, object>>)
  const properties = Object.fromEntries(
    rules.map(([name, rule]) => [name, Object.hasOwn(value, name) ? dropAbsentMembers(rule, value[name]) : {}]),
  )
  return { ...schema, properties }
}

/** Describes validation errors as sentences that begin with the path: `credentials[0].id: must be a string`. */
export function describeMistakes(errors: readonly ErrorObject[]): string[] {
  const choices = new Set(errors.flatMap(({ keyword, instancePath }) => (keyword === 'anyOf' ? instancePath : [])))
  // An `if` error only repeats the error of its branch.
  const specific = errors.filter(({ keyword, instancePath }) => keyword !== 'if' && !choices.has(instancePath))
  const single = specific.map((error) => describeMistake(error, errors.length === 1))
  // If a value matches an alternative except for a mistake inside of it, reports that mistake instead of the
  // alternatives.
  const unmet = [...choices].filter((path) => !errors.some((error) => error.instancePath.startsWith(`${path}/`)))
  return [...new Set([...single, ...unmet.map((path) => describeChoice(path, errors))])]
}

/** Describes the alternatives for a value: `path[1]: must be a string or an integer of at least 0 or null`. */
function describeChoice(instancePath: string, errors: readonly ErrorObject[]): string {
  const forms = errors.filter((error) => error.instancePath === instancePath).flatMap(formText)
  return `${formatPointer(instancePath)}: must be ${[...new Set(forms)].join(' or ')}`
}

/** Returns the text of the alternative whose constant, type or minimum a value breaks; empty for any other mistake. */
function formText({ keyword, params, parentSchema }: ErrorObject): string[] {
  if (keyword === 'const') return [JSON.stringify(params.allowedValue)]
  if (keyword !== 'type' && keyword !== 'minimum') return []
  const { type, minimum } = (parentSchema ?? {}) as { readonly type?: unknown; readonly minimum?: number }
  if (typeof type !== 'string') return []
  return [minimum === undefined ? typeText(type) : `${typeText(type)} of at least ${minimum}`]
}

/** Describes a mistake. One that is the only one says what another would have said of a misspelt member. */
function describeMistake(
  { instancePath, keyword, message, params, parentSchema, data }: ErrorObject,
  isOnly: boolean,
): string {
  const path = formatPointer(instancePath)
  const member = (name: unknown): string =>
    path === '' ? shortenName(String(name)) : `${path}.${shortenName(String(name))}`
  if (keyword === 'additionalProperties')
    return `${member(params.additionalProperty)}: unknown setting or field${suggestionText(String(params.additionalProperty), parentSchema)}`
  if (keyword === 'required')
    return `${member(params.missingProperty)}: required${misspellingText(String(params.missingProperty), parentSchema, data, isOnly)}`
  if (keyword === 'const') return `${path}: must be ${JSON.stringify(params.allowedValue)}`
  if (keyword === 'enum') return `${path}: must be one of ${(params.allowedValues as unknown[]).join(', ')}`
  const place = path === '' ? 'the body' : path
  if (keyword === 'type') {
    const hint = isQuoted(data, params.type) ? '; write it without quotation marks' : ''
    return `${place}: must be ${typeText(params.type)}${hint}`
  }
  return `${place}: ${RULES[keyword]?.(Number(params.limit)) ?? message ?? 'is not valid'}`
}

/** Returns a type of JSON Schema, or a list of them, in words. */
function typeText(type: unknown): string {
  const types = (Array.isArray(type) ? type : [type]) as readonly string[]
  return types.map((each) => TYPES[each] ?? each).join(' or ')
}

/** Tests whether a string is the JSON text of a value of the type that the schema asks for. */
function isQuoted(value: unknown, type: unknown): boolean {
  if (typeof value !== 'string') return false
  if (type === 'boolean') return value === 'true' || value === 'false'
  return (type === 'integer' || type === 'number') && /^-?\d+(\.\d+)?$/.test(value)
}

/** Shortens a long name, which may be a secret in the wrong place. */
function shortenName(name: string): string {
  return name.length > MAX_NAME ? `${name.slice(0, 8)}…` : name
}

/** Returns the one member that takes the name inside of it, or else the name that was probably meant. */
function suggestionText(name: string, schema: object | undefined): string {
  const { properties = {} } = (schema ?? {}) as { readonly properties?: Readonly<Record<string, Json>> }
  const [place, ...others] = Object.keys(properties).filter((each) =>
    isObject(memberOf(memberOf(properties[each], 'properties'), name)),
  )
  if (place !== undefined && others.length === 0) return `; does it belong in ${place}?`
  const nearest = nearestName(name, Object.keys(properties))
  return nearest === undefined ? '' : `; did you mean ${nearest}?`
}

/**
 * Returns a hint where `data` has a misspelt member in place of a required one, and no other mistake is about that
 * member.
 */
function misspellingText(missingName: string, schema: object | undefined, data: unknown, isOnly: boolean): string {
  const { properties = {}, additionalProperties } = (schema ?? {}) as {
    readonly properties?: object
    readonly additionalProperties?: unknown
  }
  if ((additionalProperties === false && !isOnly) || !isObject(data)) return ''
  const names = Object.keys(data).slice(0, MAX_SEARCHED)
  const nearest = nearestName(
    missingName,
    names.filter((name) => !Object.hasOwn(properties, name)),
  )
  return nearest === undefined ? '' : `; is ${shortenName(nearest)} misspelt?`
}

/** Formats a JSON pointer (RFC 6901), such as `/credentials/0/id`, for people. */
function formatPointer(pointer: string): string {
  return pointer
    .split('/')
    .slice(1)
    .map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'))
    .map((part) => (/^\d+$/.test(part) ? `[${part}]` : `.${part}`))
    .join('')
    .replace(/^\./, '')
}
