/** The command `vouchsafe`: one word, one service or tool. Each is loaded only when it is asked for. */
import { parseArgs } from 'node:util'

const USAGE = `vouchsafe - issue and verify digital credentials

  vouchsafe issuer   [--config FILE]     run the credential issuance service
  vouchsafe verifier [--config FILE]     run the credential verification service

FILE is conf/server.json unless given; paths in it are relative to the working directory.
`

async function main(): Promise<void> {
  const [command, ...rest] = process.argv.slice(2)
  switch (command) {
    case 'issuer':
    case 'verifier': {
      const { values } = parseArgs({ args: rest, options: { config: { type: 'string', default: 'conf/server.json' } } })
      const { runService } = await import('./service.ts')
      await runService(command, values.config)
      return
    }
    default:
      process.stdout.write(USAGE)
      process.exitCode = command === undefined || command === 'help' || command === '--help' ? 0 : 2
  }
}

main().catch((error: unknown) => {
  process.stderr.write(`${(error as Error).message}\n`)
  process.exitCode = 2
})
