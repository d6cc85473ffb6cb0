/** A directory with a local chain, its contracts and their components, and a real engine that is started on it. */
import { spawn } from 'node:child_process'
import { createHash, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { addr, Transaction } from 'micro-eth-signer'
import { createContract, deployContract, type ParsedABI } from 'micro-eth-signer/abi.js'
import { artifacts } from '../components/artifacts/index.ts'
import { hex, type Party, party } from '../components/test/evm.ts'
import { openBlockFiles, storeComponent } from '../src/bin/chain/block-files.ts'
import type { JsonRpc } from '../src/chain/json-rpc.ts'
import { openLocalRpc } from '../src/chain/local/methods.ts'
import { type Address, parseAddress } from '../src/offchain/address.ts'
import { readComponent } from '../src/toolchain/bundle.ts'
import { binaryOf, moduleText } from '../test/support/wat.ts'
import { type Running, start, stop } from './processes.ts'

export const PATHS = { value: '/value', share: '/shares/' } as const
export const CONTRACTS = 8

export interface EnginePlace {
  readonly directory: string
  readonly engine: Address
  readonly readers: Readonly<Record<'WebAssembly' | 'TypeScript', Address>>
  readonly sharing: readonly Address[]
  readonly owner: Party
  /** Shares by contract that nobody has uploaded yet. */
  readonly uploads: readonly Upload[]
  /** Tests whether the contract of an upload knows of it. */
  readonly isConfirmed: (upload: Upload) => Promise<boolean>
  remove(): void
}

export interface Upload {
  readonly contract: Address
  readonly id: bigint
  readonly share: string
}

/** Starts the engine; `chain` says whether the engine runs the chain itself, or asks a process that does. */
export async function startEngineProcess(place: EnginePlace, chain: 'local' | 'served'): Promise<Running> {
  const { directory } = place
  const program = join(directory, 'dist', 'vouchsafe.cjs')
  const node = chain === 'served' ? await serveChain(program, directory) : undefined
  writeFileSync(join(directory, 'server.json'), settings(place, node?.url))
  const args = [program, 'engine', '--config', 'server.json']
  const engine = await start({ args, directory, logFile: join(directory, 'engine.log') })
  const stop = async () => {
    await engine.stop()
    await node?.stop()
  }
  return { ...engine, stop }
}

async function serveChain(program: string, directory: string) {
  const args = [program, 'chain', 'serve', '--dir', 'chain', '--port', '0']
  const node = spawn(process.execPath, args, { cwd: directory, stdio: ['ignore', 'pipe', 'inherit'] })
  process.on('exit', () => node.kill())
  const [output] = (await once(node.stdout, 'data')) as [Buffer]
  const [url] = /http:\S+/.exec(output.toString()) ?? []
  if (url === undefined) throw new Error(`the chain is not served: ${output.toString()}`)
  return { url, stop: () => stop(node) }
}

/** Makes the directory, with a copy of `dist`, so that a build in the meantime changes nothing. */
export async function makeEnginePlace(bundle: string, uploads: number): Promise<EnginePlace> {
  const directory = mkdtempSync(join(tmpdir(), 'vouchsafe-bench-'))
  cpSync(dirname(bundle), join(directory, 'dist'), { recursive: true })
  symlinkSync(resolve(dirname(bundle), '..', 'node_modules'), join(directory, 'node_modules'), 'junction')
  const identity = party()
  writeFileSync(join(directory, 'engine.key'), pemOf(identity.key), { mode: 0o600 })
  const chain = join(directory, 'chain')
  const rpc = await openLocalRpc(openBlockFiles(chain), () => new Date())
  const owner = party()
  const send = await sender(rpc, owner)
  const engines = [{ engine: identity.address, endpoint: '' }]
  const engineParameter = { Component: 'initialEngines', SecretSharing: 'engines' } as const
  const make = async (name: keyof typeof engineParameter, bytes: Uint8Array): Promise<Address> => {
    const sha256 = await storeComponent(chain, bytes)
    const { abi, bytecode } = artifacts[name]
    const input = {
      [engineParameter[name]]: engines,
      componentSha256: new Uint8Array(Buffer.from(sha256, 'hex')),
      componentUri: '',
    }
    return parseAddress(
      (await send(undefined, bytesOf(deployContract(abi as unknown as ParsedABI, bytecode, input)))) ?? '',
    )
  }
  const readers = {
    WebAssembly: await make('Component', await binaryOf(READER_MODULE)),
    TypeScript: await make('Component', await readerScript(resolve(dirname(bundle)))),
  }
  const sharing: Address[] = []
  const component = readFileSync(join(dirname(bundle), 'components', 'secret-sharing.js'))
  for (let each = 0; each < CONTRACTS; each++) sharing.push(await make('SecretSharing', component))
  return {
    ...{ directory, readers, sharing, owner },
    engine: parseAddress(identity.address),
    uploads: await register(send, sharing, uploads),
    isConfirmed: (upload) => isConfirmed(rpc, upload),
    remove: () => rmSync(directory, { recursive: true, force: true }),
  }
}

type Send = (to: Address | undefined, data: Uint8Array) => Promise<string | undefined>

async function register(send: Send, contracts: readonly Address[], count: number): Promise<Upload[]> {
  const { registerSharing } = createContract(artifacts.SecretSharing.abi as unknown as ParsedABI)
  const uploads: Upload[] = []
  for (let at = 0; at < count; at++) {
    const contract = contracts[at % contracts.length] ?? ''
    const [id, share] = [BigInt(at + 1), randomBytes(32).toString('hex')]
    const digest = new Uint8Array(createHash('sha256').update(share).digest())
    const input = { id, threshold: 1n, commitments: [digest] }
    await send(contract, registerSharing?.encodeInput(input) ?? new Uint8Array())
    uploads.push({ contract, id, share })
  }
  return uploads
}

async function isConfirmed(rpc: JsonRpc, { contract, id }: Upload): Promise<boolean> {
  const { sharing } = createContract(artifacts.SecretSharing.abi as unknown as ParsedABI)
  const call = { to: `0x${contract.slice(2)}`, data: hex(sharing?.encodeInput(id) ?? new Uint8Array()) }
  const answer = bytesOf((await rpc('eth_call', [call, 'latest'])) as string)
  const sharingState = sharing?.decodeOutput(answer) as { readonly uploaded: readonly boolean[] } | undefined
  return sharingState?.uploaded[0] === true
}

/**
 * Returns a function that sends a transaction and gives the contract that it made. Each transaction of this chain is a
 * block at once, so that its receipt is there.
 */
async function sender(rpc: JsonRpc, from: Party): Promise<Send> {
  const chainId = BigInt((await rpc('eth_chainId', [])) as string)
  let nonce = 0n
  return async (to, data) => {
    const fields = {
      type: 'legacy',
      to: to === undefined ? '0x' : addr.addChecksum(`0x${to.slice(2)}`),
      nonce: nonce++,
    } as const
    const gas = { value: 0n, gasLimit: 10_000_000n, gasPrice: 0n, data: hex(data), chainId } as const
    const raw = Transaction.prepare({ ...fields, ...gas })
      .signBy(from.key)
      .toHex()
    const receipt = (await rpc('eth_getTransactionReceipt', [await rpc('eth_sendRawTransaction', [raw])])) as Receipt
    if (receipt.status !== '0x1') throw new Error('a transaction of the benchmark failed')
    return receipt.contractAddress ?? undefined
  }
}

interface Receipt {
  readonly status: string
  readonly contractAddress: string | null
}

function bytesOf(text: string): Uint8Array {
  return new Uint8Array(Buffer.from(text.replace(/^0x/, ''), 'hex'))
}

/** Writes the key in PEM, RFC 5915 in PKCS #8, as `vouchsafe init engine` does. */
function pemOf(key: Uint8Array): string {
  const head = '303e020100301006072a8648ce3d020106052b8104000a042730250201010420'
  const der = Buffer.from(head + Buffer.from(key).toString('hex'), 'hex').toString('base64')
  return `-----BEGIN PRIVATE KEY-----\n${der}\n-----END PRIVATE KEY-----\n`
}

function settings({ readers, sharing }: EnginePlace, rpcUrl: string | undefined): string {
  const chainSettings = { type: 'evm', rpcUrl, confirmations: 0, blocksOnDemand: true }
  const addresses = [...Object.values(readers), ...sharing].map((address) => `0x${address.slice(2)}`)
  return JSON.stringify({
    port: 0,
    host: '127.0.0.1',
    identity: { keyFile: 'engine.key' },
    chain: rpcUrl === undefined ? { type: 'local', directory: 'chain' } : chainSettings,
    ...(rpcUrl === undefined ? {} : { contractFilter: addresses, componentDirectory: 'chain/components' }),
    pollMilliseconds: 250,
    limits: { requestsPerSecond: 1_000_000, requestBurst: 1_000_000, outboxTransactions: 100_000 },
  })
}

/** The module answers GET with a stored value of 1 KiB, and stores a value for PUT. */
const READER_MODULE = moduleText(
  `(local $packed i64)
  (if (i32.eq (i32.load8_u (i32.add (local.get $ptr) (i32.const 46))) (i32.const 80))
    (then (drop (call $call (i32.const 0x20) (i32.const 0) (i32.const 1039)))
      (return (i64.const 2000))))
  (local.set $packed (call $call (i32.const 0x21) (i32.const 0) (i32.const 10)))
  (call $result (i32.wrap_i64 (i64.shr_u (local.get $packed) (i64.const 32))) (i32.const 2121))
  (i64.const 2100)`,
  {
    more: `(data (i32.const 0) "\\00\\00\\00\\01b\\00\\00\\00\\01k\\01\\00\\00\\04\\00")
    (data (i32.const 2000) "\\00\\00\\00\\11\\22\\00\\00\\00\\0c\\00\\00\\00\\c8\\00\\00\\00\\00\\00\\00\\00\\00")
    (data (i32.const 2100) "\\00\\00\\04\\11\\22\\00\\00\\04\\0c\\00\\00\\00\\c8\\00\\00\\00\\00\\00\\00\\04\\00")`,
  },
)

const READER_SCRIPT = `import { component } from 'vouchsafe/component'
component({ http: (request, context) => {
  if (request.method === 'GET') return { status: 200, body: context.storage('b').get('k') }
  context.storage('b').set('k', new Uint8Array(1024))
  return { status: 200 }
} })`

async function readerScript(dist: string): Promise<Uint8Array> {
  // The directory is one from which the bundler is found.
  const source = mkdtempSync(join(process.cwd(), 'node_modules', '.bench-'))
  try {
    writeFileSync(join(source, 'reader.ts'), READER_SCRIPT)
    return (await readComponent(join(source, 'reader.ts'), dist)).bytes
  } finally {
    rmSync(source, { recursive: true })
  }
}
