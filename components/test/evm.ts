/** The actions of tests on an EVM chain, whichever answers: make contracts, send transactions, ask. */
import { randomBytes } from 'node:crypto'
import { addr, Transaction } from 'micro-eth-signer'
import { createContract, deployContract, type ParsedABI } from 'micro-eth-signer/abi.js'
import type { JsonRpc } from '../../src/chain/json-rpc.ts'
import { artifacts } from '../artifacts/index.ts'

export type { JsonRpc }

/** A person with a key. Gas costs nothing on the chains of these tests. */
export interface Party {
  readonly key: Uint8Array
  /** The address: 0x and 40 hexadecimal characters, in lower case. */
  readonly address: string
}

export function party(): Party {
  const key = new Uint8Array(randomBytes(32))
  return { key, address: addr.fromPrivateKey(key).toLowerCase() }
}

export interface DeployedContract {
  readonly address: string
  readonly rpc: JsonRpc
  /** Sends a transaction of this method. Rejects with the reason of the contract when it refuses. */
  readonly send: (from: Party, method: string, args?: unknown) => Promise<void>
  /** Sends a transaction with these bytes. */
  readonly sendRaw: (from: Party, data: Uint8Array) => Promise<void>
  /** Encodes the input of a call, in hexadecimal. */
  readonly encode: (method: string, args?: unknown) => string
  readonly ask: (method: string, args?: unknown) => Promise<unknown>
  readonly askRaw: (data: Uint8Array) => Promise<Uint8Array>
}

/** Deploys the contract of `components/` with the name. */
export async function deploy(
  rpc: JsonRpc,
  name: keyof typeof artifacts,
  args: unknown,
  from = party(),
): Promise<DeployedContract> {
  const abi = abiOf(name)
  const data = deployContract(abi, artifacts[name].bytecode, args)
  // The call is asked first, since a receipt does not tell why a transaction failed.
  await rpc('eth_call', [{ from: from.address, data }, 'latest'])
  const receipt = await receiptOf(rpc, await submit(rpc, from, '0x', data))
  return connectContract(rpc, receipt.contractAddress ?? '', abi)
}

/** Returns the ABI of a contract of `components/`, in the type of the library. */
export function abiOf(name: keyof typeof artifacts): ParsedABI {
  return artifacts[name].abi as unknown as ParsedABI
}

function connectContract(rpc: JsonRpc, address: string, abi: ParsedABI): DeployedContract {
  const methods = createContract(abi)
  const method = (name: string) => {
    const entry = methods[name]
    if (entry === undefined) throw new Error(`the contract has no method ${name}`)
    return entry
  }
  const askRaw = async (data: Uint8Array): Promise<Uint8Array> =>
    bytes((await rpc('eth_call', [{ to: address, data: hex(data) }, 'latest'])) as string)
  const sendRaw = async (from: Party, data: Uint8Array): Promise<void> => {
    // The call is asked first, since a receipt does not tell why a transaction failed.
    await rpc('eth_call', [{ from: from.address, to: address, data: hex(data) }, 'latest'])
    await receiptOf(rpc, await submit(rpc, from, address, hex(data)))
  }
  return {
    address,
    rpc,
    askRaw,
    sendRaw,
    encode: (name, args) => hex(method(name).encodeInput(args)),
    send: (from, name, args) => sendRaw(from, method(name).encodeInput(args)),
    ask: async (name, args) => method(name).decodeOutput(await askRaw(method(name).encodeInput(args))),
  }
}

/** Sends a transaction, and returns its hash. `to` 0x makes a contract. */
export async function submit(
  rpc: JsonRpc,
  from: Party,
  to: string,
  data: string,
  gasLimit = 10_000_000n,
): Promise<string> {
  const nonce = BigInt((await rpc('eth_getTransactionCount', [from.address, 'latest'])) as string)
  const chainId = BigInt((await rpc('eth_chainId', [])) as string)
  const fields = { type: 'legacy', to, nonce, value: 0n, gasLimit, gasPrice: 0n, data, chainId } as const
  return (await rpc('eth_sendRawTransaction', [Transaction.prepare(fields).signBy(from.key).toHex()])) as string
}

interface Receipt {
  readonly status: string
  readonly contractAddress: string | null
}

async function receiptOf(rpc: JsonRpc, hash: string): Promise<Receipt> {
  for (;;) {
    const receipt = (await rpc('eth_getTransactionReceipt', [hash])) as Receipt | null
    if (receipt?.status === '0x0') throw new Error(`transaction ${hash} failed`)
    if (receipt) return receipt
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
}

export function hex(data: Uint8Array): string {
  return `0x${Buffer.from(data).toString('hex')}`
}

export function bytes(text: string): Uint8Array {
  return new Uint8Array(Buffer.from(text.replace(/^0x/, ''), 'hex'))
}
