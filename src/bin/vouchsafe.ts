/** The command `vouchsafe`. The code of each command is only loaded when it is used. */
import { type CommandName, commandEntry, isCommandName } from './command-table/index.ts'
import { endFirstProcessOnSignal } from './first-process.ts'
import { bypassProxy } from './network/proxy.ts'
import type { ServiceName } from './service/service-kind.ts'
import { commandName, PACKAGE_VERSION, readWords, UsageError, wordHint } from './terminal/command-line.ts'
import { reportFailure } from './terminal/failure.ts'
import { helpOf, overallHelp } from './terminal/help.ts'

/** The function of each command, which gets the words after it. */
const commands: Readonly<Record<CommandName, (args: string[]) => Promise<void>>> = {
  issuer: (args) => runServiceCommand('issuer', args),
  verifier: (args) => runServiceCommand('verifier', args),
  engine: (args) => runServiceCommand('engine', args),
  chain: (args) => runEngineCommand('chain', args),
  component: (args) => runEngineCommand('component', args),
  secret: (args) => runEngineCommand('secret', args),
  demo: async (args) => (await import('./demo/demo.ts')).runDemo(args),
  init: async (args) => (await import('./init/init.ts')).runInit(args),
  doctor: async (args) => (await import('./doctor/doctor.ts')).runDoctor(args),
  console: async (args) => (await import('./console/console.ts')).runConsole(args),
  callbacks: async (args) => (await import('./callbacks/callbacks.ts')).runCallbacks(args),
  'status-list': async (args) => (await import('./status-list/status-list.ts')).runStatusList(args),
  db: async (args) => (await import('./db/db.ts')).runDb(args),
  audit: async (args) => (await import('./audit/audit.ts')).runAudit(args),
  wallet: async (args) => (await import('./wallet/wallet.ts')).runWallet(args),
  completion: async (args) => (await import('./completion/completion.ts')).runCompletion(args),
}

/** Runs a command of the execution engine. */
async function runEngineCommand(word: 'chain' | 'component' | 'secret', args: string[]): Promise<void> {
  return (await import('./engine/commands.ts')).engineCommands[word](args)
}

/** Runs the service with the configuration that the command line names. */
async function runServiceCommand(name: ServiceName, args: string[]): Promise<void> {
  const words = name === 'engine' ? readEngineWords(args) : readWords(name, args).values
  const { runService } = await import('./service/run-service.ts')
  const { config: configFile, workers } = words
  return runService(name, { configFile, workers: workers === undefined ? undefined : readWorkers(name, workers) })
}

function readEngineWords(args: string[]): { readonly config: string; readonly workers?: never } {
  if (args.some((arg) => /^--workers(=|$)/.test(arg))) {
    const why = 'an engine is one process, and runs components in threads of its own'
    throw new UsageError('engine', `--workers is for issuer and verifier: ${why}`)
  }
  return readWords('engine', args).values
}

function readWorkers(name: ServiceName, text: string): number {
  if (/^[1-9]\d{0,2}$/.test(text)) return Number(text)
  throw new UsageError(name, `--workers ${text}: say how many processes share the port, as in --workers 2`)
}

async function main(): Promise<void> {
  const [word = 'help', ...args] = process.argv.slice(2)
  if (word === 'help' || asksForHelp([word])) printHelp(args)
  else if (word === '--version') print(`${PACKAGE_VERSION}\n`)
  else if (isCommandName(word)) await runCommand(word, args)
  else throw new Error(unknownCommandText(word))
}

async function runCommand(word: CommandName, args: string[]): Promise<void> {
  const hint = wordHint(word, args[0])
  if (hint !== undefined) throw new Error(hint)
  if (asksForHelp(args)) printHelp([word, ...args.filter((arg) => !asksForHelp([arg]))])
  else await commands[word](args)
}

/** Prints the help of a command or subcommand, or of all commands. */
function printHelp([word, subcommand]: readonly string[]): void {
  if (word === undefined) print(overallHelp())
  else if (isCommandName(word)) print(helpOf(word, subcommand))
  else throw new Error(unknownCommandText(word))
}

function unknownCommandText(word: string): string {
  const hint = wordHint(word, undefined)
  return `There is no command ${word}. ${hint === undefined ? '' : `${hint} `}${commandName()} help lists all.`
}

function print(text: string): void {
  process.stdout.write(text)
}

function asksForHelp(words: readonly string[]): boolean {
  return words.includes('--help') || words.includes('-h')
}

/** The commands that log to stdout and keep running even if nobody reads it. */
const RUNS_UNREAD: readonly unknown[] = ['issuer', 'verifier', 'engine', 'demo']

/** The exit status of a command whose output could not be written: EX_IOERR of sysexits.h. */
const OUTPUT_LOST = 74

process.stdout.on('error', ({ code = 'unknown' }: NodeJS.ErrnoException) => {
  const words = process.argv.slice(2)
  if (RUNS_UNREAD.includes(words[0]) && !asksForHelp(words)) return
  // The reader of a pipe may end early, like `head`.
  if (code === 'EPIPE') process.exit(0)
  process.stderr.write(`The output cannot be written (${code}); free its disk, or send it elsewhere.\n`)
  process.exit(process.exitCode || OUTPUT_LOST)
})
endFirstProcessOnSignal(process)
bypassProxy()
main().catch((error: unknown) => {
  const [word = '', ...args] = process.argv.slice(2)
  const json = isCommandName(word) && 'json' in commandEntry(word).options && args.includes('--json')
  reportFailure(error, { json, status: 2 })
})
