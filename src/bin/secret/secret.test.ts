import { expect, it } from 'vitest'
import { ClientError, EngineError } from '../../../sdk/client/errors.ts'
import { addKeyHint } from './secret.ts'

it('keeps what an error says of its engines and of its cause beside the hint about the key', () => {
  const engine = new EngineError({ address: 'ab', endpoint: '' }, 'no-endpoint')
  const cause = new Error('the cause')
  const error = Object.assign(new ClientError('not-owner', 'it belongs to another', [engine]), { cause })
  const hintedError = addKeyHint(error)
  expect(hintedError).toBeInstanceOf(ClientError)
  expect(hintedError).toMatchObject({
    code: 'not-owner',
    message:
      "it belongs to another. Without --key the command uses the key of this local chain; give the owner's with --key FILE",
    engines: [engine],
    cause,
  })
})

it('leaves an error about something else as it is', () => {
  const error = new ClientError('timeout', 'it takes too long')
  expect(addKeyHint(error)).toBe(error)
  expect(error.message).toBe('it takes too long')
})
