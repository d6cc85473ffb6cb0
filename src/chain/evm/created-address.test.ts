import { expect, it } from 'vitest'
import { evmAddress, parseAddress } from '../../offchain/address.ts'
import { createdAddress } from './created-address.ts'

const SENDER = '0x6ac7ea33f8831ea9dcc53393aaa88b25a785dbf0'

it.each([
  [0, '0xcd234a471b72ba2f1ccf0a70fcaba648a5eecd8d'],
  [1, '0x343c43a37d37dff08ae8c4a11544c718abb4fcf8'],
  [2, '0xf778b86fa74e846c4f0a1fbd1335fe81c00a0c91'],
])('the contract of the nonce %i has the address that the chain gives it', (nonce, address) => {
  expect(evmAddress(createdAddress(parseAddress(SENDER), nonce))).toBe(address)
})
