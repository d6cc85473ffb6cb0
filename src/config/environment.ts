/** Reads settings from environment variables, which take precedence over the configuration file. */
import { isObject, parseJson } from '../codec/json.ts'
import { nearestName } from '../codec/misspelling.ts'

/** The parts of a settings schema that determine variable names. */
export interface SettingsShape {
  readonly properties?: Readonly<Record<string, SettingsShape>>
  readonly anyOf?: readonly SettingsShape[]
  readonly const?: unknown
  readonly type?: string
}

export type Environment = Readonly<Record<string, string | undefined>>

/** A setting that a variable can set: its path, and whether it is a text. */
interface Setting {
  readonly path: readonly string[]
  readonly isText: boolean
}

const PREFIX = 'VOUCHSAFE_'
const FILE_SUFFIX = '_FILE'
/** Variables of other commands and of tests, which are ignored. */
const FOREIGN_VARIABLES = /^VOUCHSAFE_(TEST_.*|(ISSUER|VERIFIER)_API_KEY|ENGINE_API_KEYS|WALLET_HOME|CONSOLE_.*)$/
const LARGEST_FILE = 1024 * 1024

/** Tests whether the environment has settings, so that no configuration file is needed. */
export function hasSettings(environment: Environment): boolean {
  return findVariables(environment).length > 0
}

/** Returns the names of the variables that name settings of a schema. */
export function listVariables(schema: SettingsShape, environment: Environment): readonly string[] {
  const variables = settingsByVariable(schema)
  return findVariables(environment)
    .map(([name]) => name)
    .filter((name) => findSetting(variables, name) !== undefined)
}

/**
 * Returns `value`, the settings of a file, with those of the environment. A variable is `VOUCHSAFE_` and the path of
 * its setting in capitals: words are joined by `_`, members by `__`, as in
 * `VOUCHSAFE_RATE_LIMITS__WALLET_REQUESTS_PER_MINUTE`. The value of a text setting is used as is; all others are JSON.
 * With the suffix `_FILE`, a variable names a file with the value. Empty variables are ignored. Mistakes do not contain
 * values.
 */
export function readEnvironment(
  schema: SettingsShape,
  value: unknown,
  environment: Environment,
  read: (path: string) => string,
): { readonly value: unknown } | { readonly mistakes: readonly string[] } {
  const variables = settingsByVariable(schema)
  const mistakes: string[] = []
  let settings: object | undefined = isObject(value) ? value : undefined
  for (const [variable, text] of findVariables(environment)) {
    const target = findSetting(variables, variable)
    const result =
      target === undefined ? { mistake: unknownVariable(variable, variables) } : readVariable(target, text, read)
    if ('mistake' in result) mistakes.push(`${variable}: ${result.mistake}`)
    else if (target && settings) settings = replaceMember(settings, target.setting.path, result.value)
  }
  return mistakes.length > 0 ? { mistakes } : { value: settings ?? value }
}

/**
 * Returns the mistakes, which begin with the path of a setting. Adds the name of the variable that set it, if one did.
 */
export function nameVariables(
  schema: SettingsShape,
  mistakes: readonly string[],
  environment: Environment,
): readonly string[] {
  const variables = settingsByVariable(schema)
  const variablePaths = findVariables(environment).flatMap(([variable]) => {
    const target = findSetting(variables, variable)
    return target === undefined ? [] : [[variable, target.setting.path.join('.')] as const]
  })
  return mistakes.map((mistake) => {
    // The variable of a member comes after that of its object, and sets the member in what that has set.
    const setter = variablePaths.findLast(
      ([, path]) => mistake.startsWith(path) && /^[.[:]/.test(mistake.slice(path.length)),
    )
    return setter === undefined ? mistake : `${mistake} (set by ${setter[0]})`
  })
}

/** Returns the variables that name settings: that of an object before those of its members, which replace its own. */
function findVariables(environment: Environment): (readonly [string, string])[] {
  return Object.entries(environment)
    .flatMap(([name, text]) =>
      name.startsWith(PREFIX) && !FOREIGN_VARIABLES.test(name) && text ? [[name, text] as const] : [],
    )
    .sort(([a], [b]) => depthOf(a) - depthOf(b) || a.length - b.length || (a < b ? -1 : 1))
}

function depthOf(variable: string): number {
  return variable.split('__').length
}

/** Returns the settings by variable name. Both an object and its members have variables. */
export function settingsByVariable(schema: SettingsShape): ReadonlyMap<string, Setting> {
  const variables = new Map<string, Setting>()
  const add = ({ properties = {} }: SettingsShape, prefix: string, path: readonly string[]): void => {
    for (const [name, member] of Object.entries(properties)) {
      const variable = `${prefix}${name.replace(/(?<=[a-z0-9])(?=[A-Z])/g, '_').toUpperCase()}`
      variables.set(variable, { path: [...path, name], isText: isText(member) })
      add(member, `${variable}__`, [...path, name])
    }
  }
  add(schema, PREFIX, [])
  return variables
}

function isText({ type, const: only, anyOf }: SettingsShape): boolean {
  return type === 'string' || typeof only === 'string' || (anyOf?.every(isText) ?? false)
}

interface VariableTarget {
  readonly setting: Setting
  readonly isFile: boolean
}

function findSetting(variables: ReadonlyMap<string, Setting>, variable: string): VariableTarget | undefined {
  const namedSetting = variables.get(variable)
  if (namedSetting !== undefined) return { setting: namedSetting, isFile: false }
  const settingOfFile = variable.endsWith(FILE_SUFFIX)
    ? variables.get(variable.slice(0, -FILE_SUFFIX.length))
    : undefined
  return settingOfFile && { setting: settingOfFile, isFile: true }
}

function unknownVariable(variable: string, variables: ReadonlyMap<string, Setting>): string {
  const nearest = nearestName(variable, [...variables.keys()])
  const hint = nearest === undefined ? '' : `; did you mean ${nearest}?`
  const kubernetes = /_(PORT|SERVICE)(_|$)/.test(variable)
    ? ' (Kubernetes sets such variables by itself; turn that off with enableServiceLinks: false)'
    : ''
  return `no setting of this service has this name${hint}${kubernetes}`
}

function readVariable(
  { setting, isFile }: VariableTarget,
  value: string,
  read: (path: string) => string,
): { readonly value: unknown } | { readonly mistake: string } {
  let text = value
  if (isFile) {
    try {
      text = read(value).replace(/\r?\n$/, '')
    } catch (error) {
      const { code, message } = error as NodeJS.ErrnoException
      return { mistake: `${value} cannot be read: ${code === 'ENOENT' ? 'there is no such file' : message}` }
    }
    if (text.length > LARGEST_FILE) return { mistake: `${value} is larger than 1 MiB` }
  }
  if (setting.isText) return { value: text }
  try {
    return { value: parseJson(text) }
  } catch {
    // The parser's message contains part of the value, so it is not used.
    return { mistake: `the value must be JSON, as ${setting.path.join('.')} has it in a configuration file` }
  }
}

/** Returns the object with the member at the path replaced. Missing objects on the path are added. */
function replaceMember(object: object, [name = '', ...rest]: readonly string[], value: unknown): object {
  if (rest.length === 0) return { ...object, [name]: value }
  const member: unknown = Object.getOwnPropertyDescriptor(object, name)?.value
  return { ...object, [name]: replaceMember(isObject(member) ? member : {}, rest, value) }
}
