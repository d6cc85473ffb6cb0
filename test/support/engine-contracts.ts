/** The actions of tests of engines on a chain: deploy a contract with its component, transact, use its secrets. */
import { createHash, randomBytes } from 'node:crypto'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { engineClient } from '../../sdk/client/engine-client.ts'
import type { SecretSharing } from '../../sdk/client/secret-sharing.ts'
import { keySigner } from '../../sdk/client/signers.ts'
import { accountTransactor } from '../../sdk/client/transactor.ts'
import { readArtifact } from '../../src/bin/chain/artifact.ts'
import { type Connection, connect } from '../../src/bin/chain/connection.ts'
import { deploy } from '../../src/bin/chain/deploy.ts'
import { transact } from '../../src/bin/chain/transactions.ts'
import { encodeCall } from '../../src/chain/evm/abi.ts'
import type { Json } from '../../src/codec/json.ts'
import { type Address, evmAddress, parseAddress } from '../../src/offchain/address.ts'
import { readComponent } from '../../src/toolchain/bundle.ts'
import { makeDirectory } from './engine-process.ts'

export interface ListedContract {
  readonly address: Address
  readonly url: string
}

/** A chain, and somebody on it who has a key, and money where that counts. */
export interface Place extends Connection {
  readonly keyFile: string
}

export async function place(
  where: { readonly dir: string } | { readonly rpc: string; readonly money: Uint8Array },
): Promise<Place> {
  const keyFile = join(makeDirectory('key'), 'key')
  const key = 'dir' in where ? randomBytes(32).fill(1, 0, 1) : where.money
  writeFileSync(keyFile, Buffer.from(key).toString('hex'), { mode: 0o600 })
  const at = 'dir' in where ? { dir: where.dir } : { rpc: where.rpc }
  return { ...(await connect({ ...at, key: keyFile })), keyFile }
}

/** Deploys a contract of `components/`, with the file of its component. */
export async function deployComponent(
  at: Place,
  name: string,
  component: string | undefined,
  engines: readonly ListedContract[],
): Promise<Address> {
  const engine = engines.map(({ address, url }) => `${evmAddress(address)}=${url}`)
  const { address } = await deploy(at, name, { engine, component, 'component-uri': '', args: '[]' })
  return parseAddress(address)
}

/** Sends a transaction of a method of one of our contracts. */
export async function send(
  at: Place,
  contract: Address,
  name: string,
  method: string,
  args: readonly Json[],
): Promise<void> {
  const item = readArtifact(name).abi.find((each) => each.type === 'function' && each.name === method)
  if (item === undefined) throw new Error(`${name} has no ${method}`)
  await transact(at, contract, encodeCall(item, args))
}

/** Makes a client of the SDK, as the owner of secrets. */
export function ownerOf(
  { chain, readAccountKey }: Place,
  contract: Address,
  fetching: typeof fetch = fetch,
): SecretSharing {
  const wait = (ms: number): Promise<void> => sleep(ms)
  const now = (): Date => new Date()
  const client = engineClient({
    chain,
    contract,
    fetch: fetching,
    now,
    random: randomBytes,
    wait,
    requireSignature: true,
  })
  return {
    client,
    signer: keySigner(readAccountKey(), 'evm'),
    transactor: accountTransactor(chain, readAccountKey(), { now, wait }),
  }
}

/** Bundles a component of a test to a file; `text` is TypeScript. */
export async function componentFile(
  text: string,
): Promise<{ readonly file: string; readonly sha256: string; readonly bytes: Uint8Array }> {
  const directory = makeDirectory('component')
  const source = join(directory, 'component.ts')
  writeFileSync(source, text)
  const { bytes, sha256 } = await readComponent(source)
  const file = join(directory, 'component.js')
  writeFileSync(file, bytes)
  return { file, sha256, bytes }
}

/** Puts the bytes of a component where an engine looks for them. */
export function keepComponent({ directory }: { readonly directory: string }, bytes: Uint8Array): string {
  const sha256 = createHash('sha256').update(bytes).digest('hex')
  mkdirSync(join(directory, 'components'), { recursive: true })
  writeFileSync(join(directory, 'components', sha256), bytes)
  return sha256
}

/**
 * Returns the addresses of the next two contracts of a place: the Keccak-256 of the RLP of sender and nonce, as CREATE
 * has it.
 */
export async function nextContracts({ chain, readAccountKey }: Place): Promise<readonly string[]> {
  const { keccak_256 } = await import('@noble/hashes/sha3.js')
  const account = chain.createAccount(readAccountKey())
  const nonce = await account.fetchNextNonce()
  return [nonce, nonce + 1].map((number) => {
    const rlp = Buffer.concat([
      Buffer.from([0xd6, 0x94]),
      Buffer.from(account.address.slice(2), 'hex'),
      Buffer.from([number === 0 ? 0x80 : number]),
    ])
    return `0x${Buffer.from(keccak_256(rlp)).subarray(12).toString('hex')}`
  })
}
