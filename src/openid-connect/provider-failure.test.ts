import { expect, it } from 'vitest'
import { OutboundError } from '../http/outbound.ts'
import { refuseProviderFailures, refuseUnlessReached } from './provider-failure.ts'

it('tells the sentence about a provider that cannot be reached, and keeps the error behind it for the log', async () => {
  const cause = new Error('connect ECONNREFUSED 192.0.2.1:443')
  const failure = new OutboundError('login.example takes no connections', undefined, { cause })
  const wrapped = new TypeError('something went wrong', { cause: failure })
  for (const refuseFailure of [refuseUnlessReached, refuseProviderFailures]) {
    await expect(refuseFailure(() => Promise.reject(wrapped))).rejects.toMatchObject({
      code: 'temporarily_unavailable',
      message: 'the sign-in provider cannot be asked now; try again in a moment',
      cause: { message: 'something went wrong: login.example takes no connections', cause: wrapped },
    })
  }
})

it.each([
  ['invalid_request', 'invalid_grant'],
  ['temporarily_unavailable', 'server_error'],
])('keeps the error for the log when it refuses with %s after %s', async (code, error) => {
  const failure = Object.assign(new Error('the answer has an error'), { error })
  await expect(refuseProviderFailures(() => Promise.reject(failure))).rejects.toMatchObject({
    code,
    cause: { message: `${error}: the answer has an error`, cause: failure },
  })
})
