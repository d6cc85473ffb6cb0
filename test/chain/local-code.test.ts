/** Contracts of a local chain that no compiler made: what they do to themselves, and what others see of them. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { party, submit } from '../../components/test/evm.ts'
import { openBlockFiles } from '../../src/bin/chain/block-files.ts'
import { createEvmChain, fetchChainId } from '../../src/chain/evm/evm.ts'
import { openLocalRpc } from '../../src/chain/local/methods.ts'
import { parseAddress } from '../../src/offchain/address.ts'

async function localChain() {
  const directory = mkdtempSync(join(tmpdir(), 'vouchsafe-chain-'))
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }))
  const rpc = await openLocalRpc(openBlockFiles(directory), () => new Date())
  const sender = party()
  const send = async (to: string, data = '0x') => {
    const hash = await submit(rpc, sender, to, data, 5_000_000n)
    return (await rpc('eth_getTransactionReceipt', [hash])) as { readonly contractAddress: string }
  }
  const deploy = async (code: string): Promise<string> => {
    const length = (code.length / 2).toString(16).padStart(2, '0')
    return (await send('0x', `0x60${length}8060095f395ff3${code}`)).contractAddress
  }
  return { rpc, send, deploy }
}

it('what was made and destroyed in one transaction leaves no code and no storage (EIP-6780), and can be made again', async () => {
  const { rpc, send, deploy } = await localChain()
  // Counts in slot 0, and destroys itself.
  const child = '5f546001015f555fff'
  const made = `68${child}5f5260096017f3`
  // CREATE2 with salt 0, a call of what was made, and its address as the answer.
  const factory = await deploy(`70${made}5f525f6011600f5ff55f5f5f5f5f855af1505f5260205ff3`)
  const address = `0x${((await rpc('eth_call', [{ to: factory }, 'latest'])) as string).slice(-40)}`
  for (let times = 0; times < 2; times++) {
    await send(factory)
    expect(await rpc('eth_getCode', [address, 'latest'])).toBe('0x')
    expect(Number(await rpc('eth_getStorageAt', [address, '0x0', 'latest']))).toBe(0)
  }
})

it.each([
  ['takes from an empty stack', '50'],
  ['never ends', '5b5a54505f56'],
  ['jumps to nowhere', '60ff56'],
  ['wants more memory than there is', '5f1951'],
  ['fills the stack', '5b5f5f5f5f5f5f5f5f5f56'],
])(
  'code that %s has no component, and is no reason not to see the chain',
  async (_, code) => {
    const { rpc, deploy } = await localChain()
    const contract = parseAddress(await deploy(code))
    const chain = createEvmChain(rpc, { id: await fetchChainId(rpc), confirmations: 0 })
    expect(await chain.fetchContract(contract, await chain.fetchHead())).toBeUndefined()
  },
  600_000,
)
