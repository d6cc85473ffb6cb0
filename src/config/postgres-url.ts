/** The setting `database.url` for PostgreSQL, as a JDBC or PostgreSQL URL, with its TLS parameters. */
import { isLoopback, stripBrackets } from '../protocol/private-host.ts'
import { type Files, unreadableReason } from './files.ts'
import { mistakesOf } from './mistakes.ts'

export interface PostgresAddress {
  readonly host: string
  readonly port: number
  readonly database: string
  readonly user: string
  readonly password: string
  readonly schema?: string
  readonly tls: Tls
}

export interface PostgresConfig extends PostgresAddress {
  readonly maxConnections: number
  readonly connectTimeoutMs: number
  readonly statementTimeoutMs: number
}

type Tls =
  | { readonly mode: 'disable' | 'require' }
  | { readonly mode: 'verify-ca' | 'verify-full'; readonly ca?: string }

const MODES = ['disable', 'require', 'verify-ca', 'verify-full']
const PARAMETERS = ['sslmode', 'sslrootcert', 'currentSchema', 'user', 'password']
const FORM_MISTAKE = 'database.url: it must be postgresql://host:port/name, with or without jdbc: before it'
const ENCODED = '%2F for /, %3F for ?, %23 for # and %25 for %'

interface Login {
  readonly user: string | undefined
  readonly password: string | undefined
}

/**
 * Parses a URL without `jdbc:`, or returns all mistakes in it. Mistakes do not contain the URL, which may have a
 * password.
 */
export function readPostgresUrl(
  url: string,
  settings: Login,
  files: Files,
): PostgresAddress | { readonly mistakes: readonly string[] } {
  const parsedUrl = parse(url)
  if (parsedUrl === undefined) return { mistakes: [formMistake(url)] }
  const { host, port, database, parameters } = parsedUrl
  const login = combineLogins(settings, parsedUrl)
  const tls = readTls(parameters, files)
  const schema = parameters.get('currentSchema')
  const mistakes = [...findParameterMistakes(parameters), ...mistakesOf(login, tls)]
  if (schema !== undefined && !/^[a-z_][a-z0-9_]{0,62}$/.test(schema)) {
    mistakes.push('database.url: currentSchema must be one name of small letters, digits and underscores')
  }
  if (mistakes.length > 0 || 'mistakes' in tls) return { mistakes }
  const { user, password } = login
  return { host, port, database, user, password, tls, ...(schema === undefined ? {} : { schema }) }
}

/** Returns what is wrong with the form of a URL, and what is to be written for a character that ends a password. */
function formMistake(url: string): string {
  const login = url.slice(url.indexOf('//') + 2, Math.max(0, url.lastIndexOf('@')))
  const isUnencoded = /[/?#]|%(?![\da-f]{2})/i.test(login)
  return isUnencoded ? `${FORM_MISTAKE}; a user or a password in it has ${ENCODED}` : FORM_MISTAKE
}

interface ParsedUrl extends Login {
  readonly host: string
  readonly port: number
  readonly database: string
  readonly parameters: ReadonlyMap<string, string>
}

function parse(text: string): ParsedUrl | undefined {
  const url = URL.canParse(text) ? new URL(text) : undefined
  // Exactly one host and a database are required. The URL parser accepts a list of hosts as one host name.
  if (url?.hash !== '' || !/^\/[^/]+$/.test(url.pathname) || !/^(\[[0-9a-f:.]+\]|[\w.-]+)$/i.test(url.hostname)) {
    return undefined
  }
  try {
    return {
      host: stripBrackets(url.hostname),
      port: url.port === '' ? 5432 : Number(url.port),
      database: decodeURIComponent(url.pathname.slice(1)),
      user: url.username === '' ? undefined : decodeURIComponent(url.username),
      password: url.password === '' ? undefined : decodeURIComponent(url.password),
      parameters: new Map(url.searchParams),
    }
  } catch {
    return undefined
  }
}

function findParameterMistakes(parameters: ReadonlyMap<string, string>): string[] {
  return [...parameters.keys()]
    .filter((name) => !PARAMETERS.includes(name))
    .map((name) => `database.url: parameter ${name}: unknown; there are ${PARAMETERS.join(', ')}`)
}

/** Combines user and password from the settings and the URL. Different values of one are a mistake. */
function combineLogins(settings: Login, { user, password, parameters }: ParsedUrl) {
  const mistakes: string[] = []
  const pickOne = (name: 'user' | 'password', ...values: readonly (string | undefined)[]): string => {
    const distinctValues = [...new Set(values.filter((value) => value !== undefined))]
    if (distinctValues.length > 1) {
      mistakes.push(
        settings[name] === undefined
          ? `database.url: it names two ${name}s; leave one out`
          : `database.${name}: it contradicts database.url; write it in one of them`,
      )
    }
    return distinctValues[0] ?? ''
  }
  const login = {
    user: pickOne('user', settings.user, user, parameters.get('user')),
    password: pickOne('password', settings.password, password, parameters.get('password')),
  }
  if (login.user === '') {
    const remedy = 'write postgresql://user@host/name, or in a configuration database.user beside it'
    mistakes.push(`database.url: it names no user; ${remedy}`)
  }
  return { ...login, mistakes }
}

function readTls(
  parameters: ReadonlyMap<string, string>,
  files: Files,
): Tls | { readonly mistakes: readonly string[] } {
  const mode = parameters.get('sslmode')
  const file = parameters.get('sslrootcert')
  if (mode !== undefined && !MODES.includes(mode)) {
    const reason = ['allow', 'prefer'].includes(mode)
      ? `${mode} may connect without encryption, and nothing would tell you; `
      : ''
    return { mistakes: [`database.url: sslmode: ${reason}it must be one of ${MODES.join(', ')}`] }
  }
  if (mode !== 'verify-ca' && mode !== 'verify-full') {
    if (file === undefined) return { mode: mode === 'require' ? mode : 'disable' }
    return { mistakes: ['database.url: sslrootcert is used with sslmode=verify-ca or sslmode=verify-full alone'] }
  }
  if (file === undefined) return { mode }
  try {
    const ca = files.read(file)
    if (ca.includes('-----BEGIN CERTIFICATE-----')) return { mode, ca }
    return { mistakes: [`database.url: sslrootcert: ${file} has no certificate in PEM in it`] }
  } catch (error) {
    return { mistakes: [`database.url: sslrootcert: ${unreadableReason(error)}: ${file}`] }
  }
}

/** Returns warnings about unencrypted connections. */
export function findPostgresWarnings({ host, tls }: PostgresAddress): string[] {
  if (isLoopback(host)) return []
  if (tls.mode === 'disable') {
    return [
      `database.url: what goes to ${host} is not encrypted; add sslmode=verify-full, and sslrootcert for a CA of your own`,
    ]
  }
  if (tls.mode === 'require') {
    return [
      `database.url: sslmode=require encrypts for whoever answers at ${host}; sslmode=verify-full makes sure who it is`,
    ]
  }
  return []
}
