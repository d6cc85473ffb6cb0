/** Opens what a `secret` command needs: the chain, the engines, and the signer. */
import { engineClient } from '../../../sdk/client/engine-client.ts'
import type { SecretSharing } from '../../../sdk/client/secret-sharing.ts'
import { keySigner } from '../../../sdk/client/signers.ts'
import { accountTransactor } from '../../../sdk/client/transactor.ts'
import { connect } from '../chain/connection.ts'
import { now, random, sleep } from '../effects.ts'
import { UsageError } from '../terminal/command-line.ts'
import { readKey } from './files.ts'
import type { SecretCommand, SecretOptions } from './words.ts'

/** Opens the command. The signer is the key of `--key`; on a local chain, the default is that of `vouchsafe chain`. */
export async function openCommand(options: SecretOptions): Promise<SecretCommand> {
  const location = { dir: options.chain, rpc: options.rpc, 'max-gas-price': options.maxGasPrice }
  const connection = await connect(location, { command: 'secret' })
  const { chain, limits } = connection
  const { contract } = options
  const client = engineClient({ chain, contract, fetch: globalThis.fetch, now, random, wait: sleep })
  const openSharing = (): SecretSharing => {
    const key = Uint8Array.from(options.key === undefined ? connection.readAccountKey() : readKey(options.key))
    const transactor = accountTransactor(chain, key, { now, wait: sleep, limits })
    return { client, signer: keySigner(key, chain.addresses), transactor }
  }
  return { options, client, openSharing, requireId: () => options.id ?? refuseMissingId() }
}

function refuseMissingId(): never {
  throw new UsageError('secret', '--id ID is missing: the one that vouchsafe secret put told')
}
