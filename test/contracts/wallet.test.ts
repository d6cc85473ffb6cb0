/**
 * Secrets shared by the owner of a wallet, which signs what it shows: EIP-1193, with the signatures of an independent
 * library.
 */
import { randomBytes } from 'node:crypto'
import { setTimeout as wait } from 'node:timers/promises'
import { hexToBytes } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import {
  downloadSecret,
  type Eip1193Provider,
  engineClient,
  prepareUpload,
  type SecretSharing,
  upload,
  walletSigner,
  walletTransactor,
} from '../../sdk/client/index.ts'
import { behave, type SharingEngines, startSharingEngines } from '../support/sharing-engines.ts'

const secret = new TextEncoder().encode('kept by three, given back by two')

let world: SharingEngines
beforeAll(async () => {
  world = await startSharingEngines(3)
})
afterAll(() => world.stop())
beforeEach(() => {
  for (const engine of world.engines) behave(engine, 'none')
})

type TypedData = Parameters<ReturnType<typeof privateKeyToAccount>['signTypedData']>[0]

/** Makes a wallet in a browser, as far as it is asked. */
function wallet(asked: string[]): { readonly provider: Eip1193Provider; readonly account: string } {
  const key = `0x${randomBytes(32).toString('hex')}` as const
  const account = privateKeyToAccount(key)
  const own = world.chain.createAccount(hexToBytes(key))
  const request: Eip1193Provider['request'] = async ({ method, params = [] }) => {
    asked.push(method)
    if (method === 'eth_signTypedData_v4') {
      expect(params[0]).toBe(account.address.toLowerCase())
      return account.signTypedData(JSON.parse(params[1] as string) as TypedData)
    }
    if (method !== 'eth_sendTransaction') return world.rpc(method, params)
    const { to, data } = params[0] as { to: string; data: `0x${string}` }
    const transaction = await own.sign(`00${to.slice(2)}`, hexToBytes(data), 0n, await own.fetchNextNonce())
    await own.submit(transaction)
    return transaction.hash
  }
  return { provider: { request }, account: account.address }
}

describe('the owner of a wallet', () => {
  it('shares a secret and gets it back; each request is shown and signed for one engine', async () => {
    const asked: string[] = []
    const { provider, account } = wallet(asked)
    const now = () => new Date()
    const random = (bytes: number) => new Uint8Array(randomBytes(bytes))
    const client = engineClient({ chain: world.chain, contract: world.contract, fetch, now, random, wait })
    const transactor = walletTransactor(provider, account, world.chain, { now, wait })
    const sharing: SecretSharing = { client, signer: walletSigner(provider, account), transactor }
    const prepared = await prepareUpload(sharing, { secret, threshold: 2 })
    expect((await upload(sharing, prepared)).complete).toBe(true)
    const uploads = world.engines.map(({ requests }) => requests.find(({ target }) => target.startsWith('PUT ')))
    expect(uploads.every((put) => put?.authorization.startsWith('offchain-v2 eip712 '))).toBe(true)
    expect((await downloadSecret(sharing, { id: BigInt(prepared.id), askAll: true })).errors).toEqual([])
    expect((await downloadSecret(sharing, { id: BigInt(prepared.id) })).secret).toEqual(secret)
    expect(asked.filter((method) => method === 'eth_signTypedData_v4').length).toBeGreaterThanOrEqual(8)
  })

  it('is told when the wallet gives no signature', async () => {
    const { account } = wallet([])
    const signer = walletSigner({ request: () => Promise.resolve('0x00') }, account)
    const { engine, contract, chain } = { engine: account, contract: world.contract, chain: world.chain }
    const request = { method: 'GET', uri: '/', headers: [], body: new Uint8Array() }
    const recipient = { engine: `00${engine.slice(2).toLowerCase()}`, contract, chain }
    const moment = { now: new Date(), random: (bytes: number) => new Uint8Array(bytes) }
    await expect(signer.authorize(request, recipient, moment)).rejects.toThrow('no signature of 65 bytes')
  })
})
