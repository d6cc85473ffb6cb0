/** The command `vouchsafe`: one word, one service or tool. Each is loaded only when it is asked for. */
import { parseArgs } from 'node:util'

const USAGE = `vouchsafe - issue and verify digital credentials

Services; FILE is conf/server.json unless given, and paths in it are relative to the working directory:
  vouchsafe issuer   [--config FILE]          issue credentials to wallets
  vouchsafe verifier [--config FILE]          verify what wallets present

Getting started and finding out:
  vouchsafe demo [--once] [--home DIR] [--port-base PORT]
                                              both services and a wallet, with generated keys
  vouchsafe init issuer|verifier [--dir DIR] [--base-url URL]
                                              write a key, a certificate and a configuration
  vouchsafe doctor [issuer|verifier] [--config FILE] [--json]
                                              say everything that is wrong with a configuration

The reference wallet; it keeps its key and credentials in DIR:
  vouchsafe wallet receive OFFER-URI | list | show ID | present REQUEST-URI | decline REQUEST-URI
                   [--home DIR] [--json] [--yes]
`

/** What each command does with the words after it. */
const commands: Readonly<Record<string, (args: string[]) => Promise<void>>> = {
  issuer: async (args) => (await import('./service.ts')).runService('issuer', configFile(args)),
  verifier: async (args) => (await import('./service.ts')).runService('verifier', configFile(args)),
  demo: async (args) => (await import('./demo/demo.ts')).runDemo(args),
  init: async (args) => (await import('./init/init.ts')).runInit(args),
  doctor: async (args) => (await import('./doctor/doctor.ts')).runDoctor(args),
  wallet: async (args) => (await import('./wallet/wallet.ts')).runWallet(args),
  help: () => Promise.resolve(void process.stdout.write(USAGE)),
}

function configFile(args: string[]): string {
  return parseArgs({ args, options: { config: { type: 'string', default: 'conf/server.json' } } }).values.config
}

async function main(): Promise<void> {
  const [word = 'help', ...args] = process.argv.slice(2)
  const name = word === '-h' || word === '--help' ? 'help' : word
  const command = Object.hasOwn(commands, name) ? commands[name] : undefined
  if (command !== undefined) return command(args)
  process.stderr.write(`There is no command ${word}.\n\n${USAGE}`)
  process.exitCode = 2
}

main().catch((error: unknown) => {
  process.stderr.write(`${(error as Error).message}\n`)
  process.exitCode = 2
})
