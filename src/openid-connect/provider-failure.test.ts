import { expect, it } from 'vitest'
import { OutboundError } from '../http/outbound.ts'
import { refuseUnlessReached } from './provider-failure.ts'

it('tells the log the sentence about a provider that cannot be reached, and not the error behind it', async () => {
  const cause = new Error('connect ECONNREFUSED 192.0.2.1:443')
  const failure = new OutboundError('login.example takes no connections', undefined, { cause })
  const wrapped = new TypeError('something went wrong', { cause: failure })
  await expect(refuseUnlessReached(() => Promise.reject(wrapped))).rejects.toMatchObject({
    code: 'temporarily_unavailable',
    cause: { message: 'something went wrong: login.example takes no connections' },
  })
})
