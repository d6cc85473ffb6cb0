import { expect, it, onTestFinished } from 'vitest'
import { startServices } from '../../test/support/services.ts'
import { testWallet } from '../../test/support/wallet.ts'
import { startIssuance } from '../../test/support/wire.ts'
import { receiveOffer } from './receive.ts'

it('proves a key with a pre-authorized code where the issuer gives no other tokens', async () => {
  const services = await startServices({ issuer: { dpop: 'required' } })
  onTestFinished(() => services.close())
  const { wallet, steps } = testWallet(services.fetch, services.clock)
  expect(await receiveOffer(wallet, (await startIssuance(services)).link)).toHaveLength(1)
  const tokens = steps.filter(({ what }) => what === 'exchanged the code for an access token')
  expect(tokens.map(({ status }) => status)).toEqual([400, 400, 200])
})
