/** `vouchsafe console`: serves a web page for integrators and operators of an issuer and a verifier. */
import { readdirSync, readFileSync } from 'node:fs'
import { extname, join } from 'node:path'
import { findBuiltDirectory } from '../../toolchain/places.ts'
import { now, outbound, random } from '../effects.ts'
import { closeServer, listenOnLoopback } from '../network/network.ts'
import { parsePort, readWords, UsageError } from '../terminal/command-line.ts'
import { type ConsoleClient, readSignInWords } from './allowed-people.ts'
import type { ConsoleFile } from './answer.ts'
import { findServiceProblems } from './ask-services.ts'
import { type ConsoleEngine, type ConsoleServices, KEY_VARIABLES } from './endpoints.ts'
import { createProviderSignIn } from './provider-sign-in.ts'
import { createConsoleServer } from './server.ts'

/** The default port of the console. */
export const CONSOLE_PORT = 8090
/** The value in VOUCHSAFE_ENGINE_API_KEYS for an engine without an API key. */
const NO_KEY = '-'
/** The media types of the page's files, by extension. */
const MEDIA_TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
}

/** A running console. */
export interface OpenConsole {
  /** The link with the sign-in code, which works once. */
  readonly link: string
  /** The URL without a code. */
  readonly address: string
  close(): Promise<void>
}

/** Runs the console until a signal. API keys come from the environment, so that process lists do not show them. */
export async function runConsole(args: string[]): Promise<void> {
  const { values } = readWords('console', args)
  const services = {
    ...readService('issuer', values.issuer, process.env.VOUCHSAFE_ISSUER_API_KEY),
    ...readService('verifier', values.verifier, process.env.VOUCHSAFE_VERIFIER_API_KEY),
    engines: readEngines(values.engine, process.env.VOUCHSAFE_ENGINE_API_KEYS),
  }
  if (services.issuer === undefined && services.verifier === undefined && services.engines.length === 0) {
    throw new UsageError('console', 'Say where a service is: --issuer URL, --verifier URL, --engine URL, or several.')
  }
  const client = readSignInWords(values, process.env.VOUCHSAFE_CONSOLE_CLIENT_SECRET)
  const openedConsole = await openConsole(services, parsePort(values.port), '', client)
  const stop = (): void => void openedConsole.close().then(() => process.exit(0))
  // Handlers are set before the first output, since a signal may follow it at once.
  process.on('SIGINT', stop)
  process.on('SIGTERM', stop)
  process.stdout.write(
    `The console is open. This link signs in once, within ten minutes:\n\n  ${openedConsole.link}\n\n`,
  )
  if (client !== undefined) {
    process.stdout.write(`Whoever --allow names signs in at ${client.issuer}:\n\n  ${openedConsole.address}\n\n`)
  }
  for (const problem of await findServiceProblems(services, fetch)) report(problem)
}

/** Starts a console on loopback. Its link opens `firstPage`. Rejects if the port is in use. */
export async function openConsole(
  services: ConsoleServices,
  port: number,
  firstPage = '',
  client?: ConsoleClient,
): Promise<OpenConsole> {
  const files = readPageFiles(join(findBuiltDirectory(), 'console'))
  const { server, signInPath } = createConsoleServer({
    services,
    files,
    firstPage,
    random,
    now,
    fetch,
    report,
    providerSignIn: client && createProviderSignIn({ client, outbound, random, now, report }),
  })
  const actualPort = await listenOnLoopback(server, port)
  // Not `localhost`: browsers try ::1 first, where another user's program may listen.
  const origin = `http://127.0.0.1:${actualPort}`
  return {
    link: origin + signInPath,
    address: `${origin}/`,
    close: () => closeServer(server),
  }
}

/** Reads the files of the page into a map by path. `index.html` has the path `/`. */
function readPageFiles(directory: string): ReadonlyMap<string, ConsoleFile> {
  return new Map(
    readdirSync(directory).flatMap((name) => {
      const type = MEDIA_TYPES[extname(name)]
      if (type === undefined) return []
      return [[name === 'index.html' ? '/' : `/${name}`, { type, body: readFileSync(join(directory, name)) }]]
    }),
  )
}

function report(line: string): void {
  process.stderr.write(`${line}\n`)
}

function readService(
  name: 'issuer' | 'verifier',
  url: string | undefined,
  apiKey: string | undefined,
): ConsoleServices {
  if (url === undefined) return {}
  const variable = KEY_VARIABLES[name]
  const base = baseUrlOf(name, url)
  if (!apiKey) throw new Error(`${variable} is not set; it is a key of integrations.authentication of the ${name}`)
  refuseUnsendableKey(variable, apiKey)
  return { [name]: { url: base, apiKey } }
}

/** Throws a message for the operator if a key cannot be sent, such as two keys on two lines. */
function refuseUnsendableKey(variable: string, apiKey: string): void {
  if (!/^[!-~]+$/.test(apiKey)) throw new Error(`${variable} has a character that no API key has; give one whole key`)
}

/** Returns the engines, which may have different operators: each API key is only sent to the engine at its position. */
function readEngines(urls: readonly string[], apiKeys = ''): readonly ConsoleEngine[] {
  const keys = apiKeys.split(/\s+/).filter((key) => key !== '')
  if (keys.length > urls.length) {
    throw new Error(
      `VOUCHSAFE_ENGINE_API_KEYS: it has more keys (${keys.length}) than there are engines (--engine URL, ${urls.length})`,
    )
  }
  return urls.map((url, index) => {
    const key = keys[index] ?? NO_KEY
    refuseUnsendableKey('VOUCHSAFE_ENGINE_API_KEYS', key)
    return { url: baseUrlOf('engine', url), ...(key !== NO_KEY && { apiKey: key }) }
  })
}

function baseUrlOf(name: 'issuer' | 'verifier' | 'engine', url: string): string {
  if (!/^https?:\/\/[^/?#]+\/?$/.test(url)) {
    throw new Error(`--${name}: ${url} is not a base URL of a service; write one as in http://localhost:8079`)
  }
  return url.replace(/\/$/, '')
}
