/** Reads the settings of a service from its configuration file and the environment. */
import { existsSync, readFileSync } from 'node:fs'
import { basename, dirname, resolve } from 'node:path'
import { refuseUnlessIJson } from '../../codec/json.ts'
import { MalformedError } from '../../codec/malformed.ts'
import { utf8Text } from '../../codec/utf8.ts'
import { hasSettings, nameVariables, readEnvironment, type SettingsShape } from '../../config/environment.ts'
import { files, now } from '../effects.ts'
import { commandName, shellWord } from '../terminal/command-line.ts'

/** The number of characters that V8 shows before an unexpected one. */
const CONTEXT = 10
/** The character with which some editors begin a file, and which JSON does not allow. RFC 8259 section 8.1. */
const BYTE_ORDER_MARK = '\uFEFF'

/** A value, or the mistakes because of which it could not be read. */
export type ConfigFileResult = { readonly value: unknown } | { readonly mistakes: readonly string[] }

/** Adds the settings of the environment to those of a file. Returns all mistakes, if there are any. */
export function addEnvironment(settings: SettingsShape, result: ConfigFileResult): ConfigFileResult {
  if ('mistakes' in result) return result
  return readEnvironment(settings, result.value, process.env, (path) => files.read(path))
}

/** The functions of a service kind that read its configuration. */
interface ConfigReader<Config> {
  readonly settings: SettingsShape
  readonly readConfig: (
    value: unknown,
    configFiles: typeof files,
    at: Date,
  ) => { readonly config: Config } | { readonly mistakes: readonly string[] }
}

/**
 * Reads the configuration of a service from its file and the environment. Throws all mistakes as a message for the
 * operator.
 */
export function requireConfig<Config>(
  { settings, readConfig }: ConfigReader<Config>,
  configFile: string,
  fileResult: ConfigFileResult,
): Config {
  const settingsResult = addEnvironment(settings, fileResult)
  const result = 'mistakes' in settingsResult ? settingsResult : readConfig(settingsResult.value, files, now())
  if ('config' in result) return result.config
  const mistakes = nameVariables(settings, result.mistakes, process.env)
  throw new Error([...mistakes, ...configFileHints(configFile, result.mistakes)].join('\n'))
}

/**
 * Returns the value in a configuration file, or the mistake because of which it cannot be read. `service` names the
 * expected service. A missing file counts as empty if the environment has settings.
 */
export function readConfigFile(configFile: string, service = 'issuer (or verifier, or engine)'): ConfigFileResult {
  let text: string
  try {
    text = utf8Text(readFileSync(configFile))
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT' && hasSettings(process.env)) return { value: {} }
    return { mistakes: [`${configFile}: ${readProblem(configFile, service, error)}`] }
  }
  if (text.startsWith(BYTE_ORDER_MARK)) {
    return { mistakes: [`${configFile}: it begins with a byte order mark; save it as UTF-8 without one`] }
  }
  if (text.trim() === '') {
    const advice = `make one in another directory with: ${commandName()} init ${service}`
    return { mistakes: [`${configFile}: the file is empty; ${advice}`] }
  }
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (error) {
    return { mistakes: [`${configFile}: it is not JSON: ${jsonProblem(text, error as Error)}`] }
  }
  try {
    refuseUnlessIJson(text)
    return { value }
  } catch (error) {
    return { mistakes: [`${configFile}: ${hideApiKey((error as Error).message)}`] }
  }
}

/** Replaces the path below `integrations.authentication`, whose members are API keys. */
function hideApiKey(message: string): string {
  return message.replace(/^(integrations\.authentication)\..*(?=: )/s, '$1 (an API key)')
}

function readProblem(configFile: string, service: string, error: unknown): string {
  if (error instanceof MalformedError) return 'it is not UTF-8; write it in that encoding'
  const { code = 'unknown' } = error as NodeJS.ErrnoException
  if (code === 'EISDIR')
    return `this is a directory; name the file in it, as in ${configFile.replace(/\/$/, '')}/server.json`
  if (code === 'EACCES') return 'the file cannot be read: it may not be read by this user'
  if (code !== 'ENOENT') return `the file cannot be read (${code})`
  const searchedDirectory = dirname(resolve(configFile))
  return `the file cannot be read: it is looked for in ${searchedDirectory}; make one with: ${commandName()} init ${service}`
}

/** Describes a JSON syntax error, with its line and column if known. */
function jsonProblem(text: string, { message }: Error): string {
  const [, reason = message, at] = /^(.*?) (?:in JSON )?at position (\d+)/s.exec(message) ?? []
  if (at !== undefined) return `${reason}, ${lineAndColumn(text, Number(at))}`
  if (message.endsWith('end of JSON input')) return `${message}, ${lineAndColumn(text, text.length)}`
  // For an unexpected token, V8 shows only the characters around it.
  const [, token = message, around = ''] =
    /^(Unexpected token .+?), \.\.\."(.*)"(?:\.\.\.)? is not valid JSON$/s.exec(message) ?? []
  const start = text.indexOf(around)
  if (around === '' || start !== text.lastIndexOf(around)) return message
  return `${token}, ${lineAndColumn(text, start + CONTEXT)}`
}

function lineAndColumn(text: string, position: number): string {
  const linesBefore = text.slice(0, position).split('\n')
  return `line ${linesBefore.length}, column ${(linesBefore.at(-1) ?? '').length + 1}`
}

/** Returns that all settings are those of the environment, because the file is missing; undefined if it is not so. */
export function describeMissingFile(configFile: string): string | undefined {
  if (existsSync(configFile) || !hasSettings(process.env)) return undefined
  return `there is no file ${resolve(configFile)}: all settings are those of the environment`
}

/** Returns what the operator should know of a configuration file beside the mistakes in its settings. */
export function configFileHints(configFile: string, mistakes: readonly string[]): readonly string[] {
  return [describeMissingFile(configFile) ?? [], workingDirectoryHint(configFile, mistakes) ?? []].flat()
}

/**
 * Returns where missing files were searched, and another working directory if that may be the reason; undefined if no
 * file is missing.
 */
function workingDirectoryHint(configFile: string, mistakes: readonly string[]): string | undefined {
  const directory = dirname(resolve(configFile))
  const serviceDirectory = basename(directory) === 'conf' ? dirname(directory) : directory
  const isFileMissing = mistakes.some((mistake) => /no such file|directory cannot be read \(ENOENT\)/.test(mistake))
  if (!isFileMissing) return undefined
  const advice = serviceDirectory === process.cwd() ? '' : `; run it from its own: cd ${shellWord(serviceDirectory)}`
  return `paths are relative to the working directory (${process.cwd()})${advice}`
}
