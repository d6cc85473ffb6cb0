/** Command lines: what each command takes, how its words are read, and how one is shown so that it can be copied. */
import { type ParseArgsConfig, parseArgs } from 'node:util'
import { nearestName } from '../codec/misspelling.ts'
import type { KindName } from './service-kind.ts'

/** The version in package.json, which an installed command need not have beside it; a test compares them. */
export const PACKAGE_VERSION = '0.1.0'

/** The commands beside `engine` that are loaded with the execution engine. */
export type EngineWord = 'chain' | 'component' | 'secret'
export type CommandName =
  | KindName
  | EngineWord
  | 'demo'
  | 'init'
  | 'doctor'
  | 'console'
  | 'wallet'
  | 'callbacks'
  | 'audit'

const USAGES: Readonly<Record<CommandName, string>> = {
  issuer: '  vouchsafe issuer   [--config FILE]          issue credentials to wallets',
  verifier: '  vouchsafe verifier [--config FILE]          verify what wallets present',
  engine: '  vouchsafe engine   [--config FILE]          run off-chain components of smart contracts',
  demo: `  vouchsafe demo [--once] [--part credential|secret] [--home DIR] [--port-base PORT]
                                              a credential and a shared secret, with all services, on this machine`,
  init: `  vouchsafe init issuer|verifier|engine [--dir DIR] [--base-url URL]
                                              write keys and a configuration`,
  doctor: `  vouchsafe doctor [issuer|verifier|engine] [--config FILE] [--json]
                                              say everything that is wrong with a configuration`,
  console: `  vouchsafe console [--issuer URL] [--verifier URL] [--port PORT]
                                              a page in the browser: issue, verify, look at sessions; the API keys come
                                              from VOUCHSAFE_ISSUER_API_KEY and VOUCHSAFE_VERIFIER_API_KEY`,
  wallet: `  vouchsafe wallet receive OFFER-URI | list | show ID | present REQUEST-URI | decline REQUEST-URI
                   [--tx-code CODE] [--home DIR] [--json] [--yes]`,
  callbacks: `  vouchsafe callbacks list [--pending|--dead] [--json] | retry ID | retry --all
                   [--service issuer|verifier] [--config FILE]
                                              what your application has not been told`,
  audit: `  vouchsafe audit export [--service issuer|verifier] [--config FILE]
                                              a copy of the audit log
  vouchsafe audit verify COPY --certificate PEM [--checkpoint KEPT] [--json]
                                              say whether a copy is right`,
  chain: `  vouchsafe chain deploy NAME|ARTIFACT.json [--engine URL|ADDRESS=URL ...] [--args JSON]
                   [--component MODULE] [--component-uri URL]
  vouchsafe chain send ADDRESS FUNCTION [ARGUMENT ...]
  vouchsafe chain send ADDRESS setComponent --component MODULE [--component-uri URL]
  vouchsafe chain call ADDRESS FUNCTION [ARGUMENT ...]
  vouchsafe chain show [ADDRESS] | mine | serve [--port PORT]
                   [--dir DIR | --rpc URL] [--key KEYFILE] [--artifact NAME|ARTIFACT.json] [--json]
                                              contracts on the chain in DIR, or on the one of a node`,
  component: `  vouchsafe component build FILE [--out FILE]
                                              bundle an off-chain component; say its digest and its hooks
  vouchsafe component test FILE               run tests of a component in the sandbox`,
  secret: `  vouchsafe secret key FILE
  vouchsafe secret put    --contract ADDRESS [--file FILE] [--threshold NUMBER] [--id ID] [--resume FILE]
  vouchsafe secret get    --contract ADDRESS --id ID [--out FILE] [--all]
  vouchsafe secret delete --contract ADDRESS --id ID
  vouchsafe secret status --contract ADDRESS --id ID
                   [--chain DIR | --rpc URL] [--key KEYFILE] [--json]
                                              share a secret among engines, and get it back`,
}

/** The words that come after a command, where there is a choice of them. */
const SUBCOMMANDS: Partial<Readonly<Record<CommandName, readonly string[]>>> = {
  init: ['issuer', 'verifier', 'engine'],
  doctor: ['issuer', 'verifier', 'engine'],
  wallet: ['receive', 'list', 'show', 'present', 'decline'],
  callbacks: ['list', 'retry'],
  audit: ['export', 'verify'],
  chain: ['deploy', 'send', 'call', 'show', 'mine', 'serve'],
  component: ['build', 'test'],
  secret: ['key', 'put', 'get', 'delete', 'status'],
}

/** The configuration of a service, unless its command names another. */
export const CONFIG_FILE = 'conf/server.json'
const CONFIG_NOTE = `FILE is ${CONFIG_FILE} unless given, and paths in it are relative to the working directory`

/** The options of every command. */
export const USAGE = `vouchsafe - issue and verify digital credentials, run off-chain components of contracts

Services; ${CONFIG_NOTE}:
${USAGES.issuer}
${USAGES.verifier}
${USAGES.engine}

Getting started and finding out:
${USAGES.demo}
${USAGES.init}
${USAGES.doctor}

Operating a service:
${USAGES.console}
${USAGES.callbacks}
${USAGES.audit}

Off-chain components of contracts:
${USAGES.component}

The reference wallet; it keeps its key and credentials in DIR:
${USAGES.wallet}

Contracts with off-chain components; DIR is data/chain unless given; deploy makes it:
${USAGES.chain}
${USAGES.secret}

--help after a command tells its options; --version tells the version
`

export function usageOf(command: CommandName): string {
  const note = USAGES[command].includes('--config FILE') ? `\n${CONFIG_NOTE}.\n` : ''
  return `Usage:\n${USAGES[command]}\n${note}`
}

/** The words after a command. Throws what is wrong with them, and the usage. */
export function readWords<T extends ParseArgsConfig>(command: CommandName, config: T): ReturnType<typeof parseArgs<T>> {
  try {
    return parseArgs(config)
  } catch (error) {
    throw new Error(`${wordsProblem(error, Object.keys(config.options ?? {}))}\n\n${usageOf(command).trimEnd()}`)
  }
}

/**
 * Returns the message of Node about a wrong option, without its advice on hyphens, and with the option that was
 * probably meant.
 */
export function wordsProblem(error: unknown, options: readonly string[]): string {
  const text = (error as Error).message.replace(/\.?\s+To specify a positional argument.*$/s, '')
  const [, unknown = ''] = /^Unknown option '--([^']*)'/.exec(text) ?? []
  const nearest = nearestName(unknown, options)
  return nearest === undefined ? text : `${text}; did you mean --${nearest}?`
}

/** A sentence for a word that is nearly a command, or nearly one of its subcommands. Undefined where it is not. */
export function wordHint(word: string, after: string | undefined): string | undefined {
  const command = nearestName(word, Object.keys(USAGES))
  if (command !== undefined) return `Did you mean ${command}?`
  const subcommands = Object.hasOwn(USAGES, word) ? (SUBCOMMANDS[word as CommandName] ?? []) : []
  const subcommand = nearestName(after ?? '', subcommands)
  return subcommand === undefined
    ? undefined
    : `There is no ${word} ${after ?? ''}. Did you mean ${word} ${subcommand}?`
}

/** Returns the message about words that do not name one service, with a command that works. */
export function serviceProblem(command: 'doctor' | 'init', words: readonly string[]): string {
  const [word, ...more] = words
  return `${
    word === undefined
      ? 'Say which service: issuer, verifier or engine.'
      : more.length > 0
        ? 'Name one service at a time: issuer, verifier or engine.'
        : `There is no service ${word}; there are issuer, verifier and engine.`
  } For example: ${commandName()} ${command} issuer`
}

/**
 * Returns the command as the user called it: by its name, with npx in a project that has it, or by its file in a clone.
 */
export function commandName(): string {
  const [, file = ''] = process.argv
  if (file.endsWith('/node_modules/.bin/vouchsafe')) return 'npx vouchsafe'
  return file.endsWith('.cjs') ? `node ${shellWord(file)}` : 'vouchsafe'
}

/** A path as one word of a command line. */
export function shellWord(path: string): string {
  return /^[\w./:@%+=-]+$/.test(path) ? path : `'${path.replaceAll("'", "'\\''")}'`
}
