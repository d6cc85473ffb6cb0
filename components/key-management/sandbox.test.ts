/**
 * Key management as engines run it: its bytes, in the sandbox, on each chain. The rules in detail are in
 * key-management.test.ts.
 */
import { createPublicKey, verify } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { keyPackage, type SigningEngine, signTogether } from '../../sdk/client/key-management.ts'
import { chains } from '../test/chains.ts'
import { type Device, device } from '../test/device.ts'
import { type DeployedContract, deploy, type Party, party } from '../test/evm.ts'
import { authorizeOnce, inRuntime, scriptOf } from '../test/in-runtime.ts'

const [owner, signer, stranger] = [party(), party(), party()]
const message = new TextEncoder().encode('pay 10 to somebody')

describe.each(chains)('key management in the sandbox on $name', ({ start }) => {
  const stops: (() => Promise<void>)[] = []
  let contract: DeployedContract
  let devices: readonly Device[]
  let olderProfile: Device
  beforeAll(async () => {
    const chain = await start()
    const { run, authorize, stop } = await inRuntime(await scriptOf('key-management'))
    stops.push(chain.stop, stop)
    const parties = [party(), party(), party()]
    const engines = parties.map(({ address }) => ({ engine: address, endpoint: '' }))
    contract = await deploy(chain.rpc, 'KeyManagement', {
      engines,
      componentSha256: new Uint8Array(32),
      componentUri: '',
    })
    const once = authorizeOnce(String(Number(await chain.rpc('eth_chainId', []))))
    devices = parties.map((one) => device(run, contract, one, once))
    olderProfile = device(run, contract, parties[0] as Party, authorize)
  })
  afterAll(() => Promise.all(stops.map((stop) => stop())))

  it('makes a key, signs by two of three engines, without the one that is gone, and only for whom the policy names', async () => {
    const policy = {
      signers: [signer.address],
      notAfter: 0n,
      sharesPerDay: 0n,
      prefix: new TextEncoder().encode('pay '),
    }
    await contract.send(owner, 'createKey', { id: 1n, threshold: 2, policy_: policy })
    for (let round = 0; round < 3; round++) for (const each of devices) await each.stateChange()
    const { publicKey, status } = (await contract.ask('key', 1n)) as { publicKey: Uint8Array; status: bigint }
    expect(status).toBe(4n)
    const key = keyPackage((await contract.ask('commitments', 1n)) as Uint8Array[], 2, publicKey)

    const asked: [string, string][] = []
    const engines: SigningEngine[] = devices.map((one, index) => ({
      index,
      name: `engine ${index + 1}`,
      post: async (path, body) => {
        if (index === 1) throw new Error('killed')
        if (index === 0) asked.push([path, body])
        const { status, text } = await one.http('POST', path, { body, as: signer })
        return { status, body: text }
      },
    }))
    const { signature, faults } = await signTogether(1n, message, key, engines)
    expect(faults).toEqual([{ engine: 'engine 2', why: 'it could not be asked: killed' }])
    const x = Buffer.from(publicKey).toString('base64url')
    const verifier = createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x }, format: 'jwk' })
    expect(verify(null, message, verifier, signature)).toBe(true)

    const [path, body] = asked.at(-1) ?? ['', '']
    const first = devices[0] as Device
    expect(await first.http('POST', path, { body, as: signer })).toMatchObject({ status: 409 })
    expect(await first.http('POST', path, { body, as: stranger })).toMatchObject({ status: 401 })
    for (const what of ['commitments', 'signature-shares']) {
      const answer = await olderProfile.http('POST', `/keys/1/${what}`, { body, as: signer })
      expect([answer.status, answer.text]).toEqual([401, '{"error":"Unauthorized: sign by the profile offchain-v2"}'])
    }
    for (const length of [1000, 34_304, 200_000]) {
      const answer = await first.http('POST', path, { body: '['.repeat(length), as: signer })
      expect([answer.status, answer.text]).toEqual([400, '{"error":"Malformed request"}'])
    }
    await expect(signTogether(1n, new TextEncoder().encode('take 10'), key, engines)).rejects.toThrow('does not allow')
    await contract.send(owner, 'setPolicy', { id: 1n, policy_: { ...policy, signers: [] } })
    await expect(signTogether(1n, message, key, engines)).rejects.toThrow('its component refused (401): Unauthorized')
  }, 600_000)
})
