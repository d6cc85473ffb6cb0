/**
 * A contract of tests that makes one call for each of many ids, in few transactions; for the called contract it is the
 * sender.
 */
import { type DeployedContract, type JsonRpc, party, submit } from './evm.ts'

export interface Repeater {
  readonly address: string
  /**
   * Makes `call` with each id from `first` to before `end`, which takes the place of its first argument: `atOnce` in
   * one transaction.
   */
  readonly repeat: (contract: DeployedContract, call: string, ids: Ids, atOnce: number) => Promise<void>
}

interface Ids {
  readonly first: number
  readonly end: number
}

/**
 * The input is the address, the first id and the last but one, in words of 32 bytes, and then the call, which is copied
 * to memory.
 */
const BEGIN = '60603603806060600037' + '602035'
const LOOP = '5b' + '80600452' + '6000600083' + '60006000' + '600035' + '5af1'
const UNLESS_REFUSED = '156030' + '57'
const NEXT = '600101' + '80604035' + '11600d57' + '00'
/** The code that passes a refusal on. */
const REFUSED = '5b3d600060003e3d6000fd'
const CODE = BEGIN + LOOP + UNLESS_REFUSED + NEXT + REFUSED
const CONSTRUCTOR = `60${(CODE.length / 2).toString(16)}80600b6000396000f3`
const GAS = 30_000_000n

export async function deployRepeater(rpc: JsonRpc): Promise<Repeater> {
  const sender = party()
  const send = async (to: string, data: string): Promise<string | null> => {
    const hash = await submit(rpc, sender, to, data, GAS)
    const receipt = (await rpc('eth_getTransactionReceipt', [hash])) as {
      status: string
      contractAddress: string | null
    }
    if (receipt.status !== '0x1') throw new Error(`the transaction ${hash} failed`)
    return receipt.contractAddress
  }
  const address = (await send('0x', `0x${CONSTRUCTOR}${CODE}`)) ?? ''
  return {
    address,
    repeat: async (contract, call, { first, end }, atOnce) => {
      for (let id = first; id < end; id += atOnce) {
        const words = [BigInt(contract.address), BigInt(id), BigInt(Math.min(end, id + atOnce))]
        await send(address, `0x${words.map((word) => word.toString(16).padStart(64, '0')).join('')}${call.slice(2)}`)
      }
    },
  }
}
