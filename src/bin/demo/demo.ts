/**
 * `vouchsafe demo`: runs an issuer, a verifier and a wallet on this machine, issues and presents a credential over
 * HTTP, and then shows links for other wallets. With `--once` it ends after the walk.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import type { engineDefaults } from '../../engine/config.ts'
import { isSafeAddress } from '../../wallet/address.ts'
import type { WalletContext } from '../../wallet/context.ts'
import type { ConsoleEngine } from '../console/endpoints.ts'
import { now, random } from '../effects.ts'
import { makeDirectory } from '../files/directory.ts'
import { type CredentialServiceName, credentialServices } from '../service/credential-services.ts'
import { readWords } from '../terminal/command-line.ts'
import { hangingIndent, paint } from '../terminal/terminal.ts'
import { walletFiles } from '../wallet/files.ts'
import { listenAsFront } from './front.ts'
import { createNarrator, type Narrator } from './narrator.ts'
import { listenAsPortal, type Portal } from './portal.ts'
import { type DemoAddress, findAddress, logFile, makeHome, startService } from './services.ts'
import { showLinks } from './stay.ts'
import { type Cast, type DeclaredIds, walkThroughOffer } from './walk.ts'
import { walkWithoutOffer } from './wallet-asks.ts'

/** The default ports. The verifier's is two above the issuer's. */
const PORT_BASE = credentialServices.issuer.defaults.port
const VERIFIER_OFFSET = credentialServices.verifier.defaults.port - PORT_BASE
/** The port of the front is between those of the issuer and the verifier. */
const FRONT_OFFSET = 1
const PORTAL_OFFSET = VERIFIER_OFFSET + 1
/** The port of an engine. Its type is compared with the default, without loading the code of the engine here. */
const ENGINE_PORT: (typeof engineDefaults)['port'] = 8400
const ENGINE_OFFSET = ENGINE_PORT - PORT_BASE
const ENGINES = 3
/** The time limit for closing at the end. */
const CLOSE_LIMIT_MS = 3000
/** The exit status of a shell after SIGINT. */
const INTERRUPT_STATUS = 130

type Part = 'credential' | 'secret'

interface Options {
  readonly once: boolean
  /** The part of the demo to run; both when absent. */
  readonly part: Part | undefined
  readonly home: string
  /** Whether the home directory is temporary and removed at the end. */
  readonly isTemporary: boolean
  readonly portBase: number
  /** The URL of the tunnel or proxy for wallets. */
  readonly baseUrl: string | undefined
  /** Whether to open the console in a browser. */
  readonly mayOpen: boolean
}

/** Something to close at the end. */
interface Closable {
  readonly close: () => Promise<void>
}

/** The progress of the demo. */
interface Progress {
  hasWalked: boolean
  isStopping: boolean
}

/** Runs `vouchsafe demo` with the words after it. */
export async function runDemo(args: string[]): Promise<void> {
  // Keys, databases and the log are private.
  process.umask(0o077)
  const options = readOptions(args)
  const services: Closable[] = []
  const progress: Progress = { hasWalked: false, isStopping: false }
  stopDemoOnSignal(services, progress)
  if (options.isTemporary) process.once('exit', () => removeHome(options.home))
  const narrator = createNarrator(write)
  try {
    const scene = options.part === 'secret' ? undefined : await showCredential(options, narrator, services)
    const engines = options.part === 'credential' ? [] : await playSecretPart(options, narrator, services)
    progress.hasWalked = true
    if (scene !== undefined && !options.once) {
      await showLinks(scene.cast, scene.declared, { ...options, engines })
      return
    }
  } catch (error) {
    // Stopping makes the running step fail, which is expected.
    if (progress.isStopping) return
    reportDemoFailure(narrator, error as Error)
  }
  await closeAll(services)
}

/** Removes the directory. A killed engine may still finish a write, so that the first attempt fails. */
function removeHome(home: string): void {
  rmSync(home, { recursive: true, force: true, maxRetries: 5 })
}

function readOptions(args: string[]): Options {
  const { values } = readWords('demo', args)
  const portBase = Number(values['port-base'])
  if (!Number.isInteger(portBase) || portBase < 1 || portBase > 65_535 - ENGINE_OFFSET - ENGINES) {
    throw new Error(
      `--port-base: ${values['port-base']} is not a port; the issuer takes it, the verifier the next but one, the engines from ${ENGINE_OFFSET} above`,
    )
  }
  const baseUrl = baseUrlOf(values['base-url'])
  const isTemporary = values.home === undefined
  const home = isTemporary ? mkdtempSync(join(tmpdir(), 'vouchsafe-demo-')) : resolve(values.home ?? '')
  return {
    once: values.once,
    part: values.part,
    home,
    isTemporary,
    portBase,
    baseUrl,
    mayOpen: !values['no-browser'],
  }
}

function baseUrlOf(text: string | undefined): string | undefined {
  if (text === undefined) return undefined
  if (!/^https?:\/\/[^/?#]+\/?$/.test(text) || !isSafeAddress(text)) {
    throw new Error(
      `--base-url: ${text} is not an address by which a wallet comes; write one as in https://demo.example.org`,
    )
  }
  return text.replace(/\/$/, '')
}

async function showCredential(
  options: Options,
  narrator: Narrator,
  services: Closable[],
): Promise<{ readonly cast: Cast; readonly declared: DeclaredIds }> {
  const { cast, portal } = await startServices(options, narrator, services)
  const declaredIds = await walkThroughOffer(cast)
  await walkWithoutOffer(cast, declaredIds, portal)
  write(`\n${paint('green', 'The credential was issued, presented and verified.')}\n`)
  return { cast, declared: declaredIds }
}

/**
 * Plays the second part in a new directory, with new engines and a new chain. The engines keep running for the console
 * if the demo stays.
 */
async function playSecretPart(
  { home, portBase, once, part }: Options,
  narrator: Narrator,
  services: Closable[],
): Promise<readonly ConsoleEngine[]> {
  makeDirectory(home, 0o700)
  const directory = mkdtempSync(join(home, 'engines-'))
  process.once('exit', () => removeHome(directory))
  const registerKill = (kill: () => Promise<void>): unknown => services.push({ close: kill })
  const engineCommands = await import('../engine/commands.ts')
  const play = { home: directory, port: portBase + ENGINE_OFFSET, narrator, registerKill }
  const engines = await engineCommands.playSecretPart({ ...play, keepsEngines: !once && part === undefined })
  write(`\n${paint('green', 'The secret was shared, recovered without one engine, and the liar was named.')}\n`)
  return engines
}

/** Creates missing files, starts the servers, and shows their addresses. */
async function startServices(
  options: Options,
  narrator: Narrator,
  services: Closable[],
): Promise<{ readonly cast: Cast; readonly portal: Portal }> {
  const { home, portBase, baseUrl } = options
  write(
    `${paint('bold', 'Vouchsafe')}: a credential that is issued, shown and verified;\nand a secret that three engines keep.\n\n`,
  )
  makeDirectory(home, 0o700)
  const places = {
    issuer: await findAddress(portBase, baseUrl),
    verifier: await findAddress(portBase + VERIFIER_OFFSET, baseUrl),
  }
  const page = await findAddress(portBase + PORTAL_OFFSET, undefined)
  await makeHome(home, places)
  const issuer = await startService('issuer', home, places.issuer, { authentication: { interactionUrl: page.url } })
  services.push(issuer)
  const portal = await listenAsPortal(issuer, page.port)
  services.push(portal)
  const verifier = await startService('verifier', home, places.verifier)
  services.push(verifier)
  const front = baseUrl ? await listenAsFront([issuer, verifier], portBase + FRONT_OFFSET) : undefined
  if (front) services.push(front)
  write(addressesText(options, places, front))
  const walletHome = join(home, 'wallet')
  const wallet: WalletContext = {
    fetch,
    now,
    random,
    store: walletFiles(walletHome),
    onStep: (step) => {
      narrator.tellStep({ who: 'The wallet', ...step })
    },
  }
  return { cast: { issuer, verifier, wallet, walletHome, narrator, write }, portal }
}

/** Makes the text with the addresses. */
function addressesText(
  { home, isTemporary, baseUrl }: Options,
  { issuer, verifier }: Readonly<Record<CredentialServiceName, DemoAddress>>,
  front: { readonly url: string } | undefined,
): string {
  const lines = [
    `  issuer    ${describeAddress(issuer)}`,
    `  verifier  ${describeAddress(verifier)}`,
    ...(front ? [`  wallets   come by ${baseUrl}, which has to lead to ${front.url}`] : []),
    `  files     ${home} (${isTemporary ? 'removed at the end' : 'kept for the next time'})`,
    `  log       ${logFile(home)}`,
  ]
  return `${lines.join('\n')}\n`
}

function describeAddress({ preferredPort, port, url }: DemoAddress): string {
  return port === preferredPort ? url : `${url} (port ${preferredPort} is taken)`
}

/** Prints the failure, and sets the exit status. */
function reportDemoFailure(narrator: Narrator, { message, cause }: Error): void {
  const reason = cause instanceof Error ? ` (${cause.message})` : ''
  const why = `${message}${message.includes(reason) ? '' : reason}`
    .split('\n')
    .map((line) => hangingIndent('', 0, line))
  process.stderr.write(`\n${paint('red', 'The demo failed')}, at: ${narrator.getCurrentPart()}\n${why.join('\n')}\n`)
  process.exitCode = 1
}

/** Stops the demo at the first signal. The exit status is 0 if the walk is complete. */
function stopDemoOnSignal(services: readonly Closable[], progress: Progress): void {
  const stop = (): void => {
    if (progress.isStopping) return
    progress.isStopping = true
    write('\nStopping.\n')
    const exit = (): never => process.exit(progress.hasWalked ? 0 : INTERRUPT_STATUS)
    setTimeout(exit, CLOSE_LIMIT_MS).unref()
    void closeAll(services).finally(exit)
  }
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, stop)
  // The reader of stdout has ended, as with `| head`.
  process.stdout.on('error', stop)
}

async function closeAll(services: readonly Closable[]): Promise<void> {
  await Promise.allSettled(services.map(({ close }) => close()))
}

function write(text: string): void {
  process.stdout.write(text)
}
