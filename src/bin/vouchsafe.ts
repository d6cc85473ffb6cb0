/** The command `vouchsafe`. The code of each service or tool is loaded only when it is used. */
import {
  CONFIG_FILE,
  type CommandName,
  commandName,
  type EngineWord,
  PACKAGE_VERSION,
  readWords,
  USAGE,
  usageOf,
  wordHint,
} from './command-line.ts'
import { bypassProxy } from './proxy.ts'
import type { KindName } from './service-kind.ts'
import { plainLines } from './terminal.ts'

/** The function of each command, which takes the words after it. */
const commands: Readonly<Record<CommandName, (args: string[]) => Promise<void>>> = {
  issuer: (args) => runServiceWord('issuer', args),
  verifier: (args) => runServiceWord('verifier', args),
  engine: (args) => runServiceWord('engine', args),
  chain: (args) => runWord('chain', args),
  component: (args) => runWord('component', args),
  secret: (args) => runWord('secret', args),
  demo: async (args) => (await import('./demo/demo.ts')).runDemo(args),
  init: async (args) => (await import('./init/init.ts')).runInit(args),
  doctor: async (args) => (await import('./doctor/doctor.ts')).runDoctor(args),
  console: async (args) => (await import('./console/console.ts')).runConsole(args),
  callbacks: async (args) => (await import('./callbacks/callbacks.ts')).runCallbacks(args),
  audit: async (args) => (await import('./audit/audit.ts')).runAudit(args),
  wallet: async (args) => (await import('./wallet/wallet.ts')).runWallet(args),
}

/** Runs a command of the execution engine, whose code is in a file of its own. */
async function runWord(word: EngineWord, args: string[]): Promise<void> {
  return (await import('./engine/commands.ts')).engineCommands[word](args)
}

/** Runs the service with the configuration that its command line names. */
async function runServiceWord(name: KindName, args: string[]): Promise<void> {
  const options = { config: { type: 'string', default: CONFIG_FILE } } as const
  const { config } = readWords(name, { args, options }).values
  return (await import('./service.ts')).runService(name, config)
}

async function main(): Promise<void> {
  const [word = 'help', ...args] = process.argv.slice(2)
  if (isCommand(word)) {
    const hint = wordHint(word, args[0])
    if (hint !== undefined) throw new Error(hint)
    // The wallet explains itself at greater length.
    if (word === 'wallet' || !asksForHelp(args)) return commands[word](args)
    process.stdout.write(usageOf(word))
  } else if (word === 'help' || asksForHelp([word])) process.stdout.write(USAGE)
  else if (word === '--version') process.stdout.write(`${PACKAGE_VERSION}\n`)
  else {
    const hint = wordHint(word, undefined)
    throw new Error(
      `There is no command ${word}. ${hint === undefined ? '' : `${hint} `}${commandName()} help lists all.`,
    )
  }
}

function isCommand(word: string): word is CommandName {
  return Object.hasOwn(commands, word)
}

function asksForHelp(words: readonly string[]): boolean {
  return words.includes('--help') || words.includes('-h')
}

/** Commands that write their log to stdout, and serve whether or not anybody reads it. */
const SERVICES: readonly unknown[] = ['issuer', 'verifier', 'engine', 'demo']

// The reader of a pipe may end early, as `head` does.
process.stdout.on('error', ({ code }: NodeJS.ErrnoException) => {
  if (code === 'EPIPE' && !SERVICES.includes(process.argv[2])) process.exit(0)
})
bypassProxy()
main().catch((error: unknown) => {
  // The message may quote a contract, a node or an issuer.
  process.stderr.write(`${plainLines((error as Error).message)}\n`)
  process.exitCode = 2
})
