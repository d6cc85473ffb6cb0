import { mkdtempSync, readFileSync } from 'node:fs'
import { blockFiles } from '../src/bin/chain/block-files.ts'
import { localJsonRpc } from '../src/chain/local/local.ts'
import { chainIdOf, evmChain } from '../src/chain/evm/evm.ts'
import { deployContract, createContract } from 'micro-eth-signer/abi.js'
const dir = mkdtempSync('/tmp/chainwork/d')
const rpc = await localJsonRpc(blockFiles(dir), () => new Date())
const chain = evmChain(rpc, { id: await chainIdOf(rpc), confirmations: 0, note: console.log })
console.log(chain.id, await chain.head())
const { abi, bytecode } = JSON.parse(readFileSync('components/artifacts/Component.json', 'utf8'))
const account = chain.account(Buffer.from('11'.repeat(32), 'hex'))
const engines = [{ engine: '0x' + '22'.repeat(20), endpoint: 'http://localhost:8080/' }]
const code = deployContract(abi, bytecode, { initialEngines: engines, componentSha256: Buffer.alloc(32, 7), componentUri: '' })
const tx = await account.sign(undefined, Buffer.from(code.slice(2), 'hex'), 0n, await account.nextNonce())
await account.submit(tx)
await account.submit(tx)
console.log(await account.outcome(tx))
const receipt: any = await rpc('eth_getTransactionReceipt', [tx.hash])
const address = '00' + receipt.contractAddress.slice(2)
const head = await chain.head()
console.log(head, await chain.contract(address, head))
const api = createContract(abi)
const before = head
let t = performance.now()
const N = 300
for (let i = 0; i < N; i++) {
  const call = await account.sign(address, api.post.encodeInput(Buffer.from('hi' + i)), 0n, await account.nextNonce())
  await account.submit(call)
}
console.log('per tx', (performance.now() - t) / N)
console.log(await chain.changed([address, account.address], before, await chain.head()))
t = performance.now()
for (let i = 0; i < N; i++) await chain.read(address, api.engines.encodeInput(undefined as never), before)
console.log('per read', (performance.now() - t) / N)
t = performance.now()
const again = await localJsonRpc(blockFiles(dir), () => new Date())
console.log('replay per tx', (performance.now() - t) / N, await again('eth_blockNumber', []))
const other = chain.account(Buffer.from('12'.repeat(32), 'hex'))
await other.sign(address, api.setEngines.encodeInput(engines as never), 0n, 0).catch(console.log)
