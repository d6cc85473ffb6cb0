/** `vouchsafe console`: a page in the browser for whoever integrates or operates an issuer and a verifier. */
import { readdirSync, readFileSync } from 'node:fs'
import { extname, join } from 'node:path'
import { builtDirectory } from '../../toolchain/places.ts'
import { parsePort, readWords, UsageError } from '../command-line.ts'
import { now, outbound, random } from '../effects.ts'
import { closeServer, listenOnLoopback } from '../network.ts'
import { type ConsoleClient, readSignInWords } from './allowed-people.ts'
import type { ConsoleFile } from './answer.ts'
import type { ConsoleEngine, ConsoleServices } from './endpoints.ts'
import { createProviderSignIn } from './provider-sign-in.ts'
import { createConsoleServer } from './server.ts'

/** The usual port of the console. */
export const CONSOLE_PORT = 8090
/** The text that stands in VOUCHSAFE_ENGINE_API_KEYS for an engine without a key. */
const NO_KEY = '-'
/** The media types of the page's files, by how their names end. */
const MEDIA_TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
}

/** A console that listens. */
export interface OpenConsole {
  /** The link that signs in once. */
  readonly link: string
  /** The address without a code. */
  readonly address: string
  close(): Promise<void>
}

/**
 * Runs the console until a signal ends it. The API keys come from the environment, which no list of processes shows.
 */
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
  // A signal may follow the first output at once.
  process.on('SIGINT', stop)
  process.on('SIGTERM', stop)
  process.stdout.write(
    `The console is open. This link signs in once, within ten minutes:\n\n  ${openedConsole.link}\n\n`,
  )
  if (client !== undefined) {
    process.stdout.write(`Whoever --allow names signs in at ${client.issuer}:\n\n  ${openedConsole.address}\n\n`)
  }
}

/** Opens a console on this machine alone, whose link leads to `firstPage`. Rejects when the port is in use. */
export async function openConsole(
  services: ConsoleServices,
  port: number,
  firstPage = '',
  client?: ConsoleClient,
): Promise<OpenConsole> {
  const files = readPageFiles(join(builtDirectory(), 'console'))
  const { server, signInPath } = createConsoleServer({
    ...{ services, files, firstPage, random, now, fetch, report },
    providerSignIn: client && createProviderSignIn({ client, outbound, random, now, report }),
  })
  const actualPort = await listenOnLoopback(server, port)
  // Another user of this machine may listen at ::1, which browsers try first for localhost.
  const origin = `http://127.0.0.1:${actualPort}`
  return {
    link: origin + signInPath,
    address: `${origin}/`,
    close: () => closeServer(server),
  }
}

/** Reads the files of the page, each once, into a map by path; `index.html` has the path `/`. */
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
  const variable = `VOUCHSAFE_${name.toUpperCase()}_API_KEY`
  const base = baseUrlOf(name, url)
  if (!apiKey) throw new Error(`${variable} is not set; it is a key of integrations.authentication of the ${name}`)
  return { [name]: { url: base, apiKey } }
}

/** Reads the engines, which may be those of other operators: each key goes to the engine in its place alone. */
function readEngines(urls: readonly string[], apiKeys = ''): readonly ConsoleEngine[] {
  const keys = apiKeys.split(' ').filter((key) => key !== '')
  if (keys.length > urls.length) {
    throw new Error(
      `VOUCHSAFE_ENGINE_API_KEYS: it has more keys (${keys.length}) than there are engines (--engine URL, ${urls.length})`,
    )
  }
  return urls.map((url, index) => {
    const key = keys[index] ?? NO_KEY
    return { url: baseUrlOf('engine', url), ...(key !== NO_KEY && { apiKey: key }) }
  })
}

function baseUrlOf(name: 'issuer' | 'verifier' | 'engine', url: string): string {
  if (!/^https?:\/\/[^/?#]+\/?$/.test(url)) {
    throw new Error(`--${name}: ${url} is not a base URL of a service; write one as in http://localhost:8079`)
  }
  return url.replace(/\/$/, '')
}
