import { expect, it } from 'vitest'
import { type ClientError, EngineError } from './errors.ts'
import { refuseUnlessUploaded, type SharingState } from './secret-sharing.ts'

const engine = { address: `00${'ab'.repeat(20)}`, endpoint: 'https://one.example/\u001b[2J\u202e' }

it('the endpoint that a contract has for an engine writes nothing to a terminal', () => {
  expect(new EngineError(engine as never, 'unreachable').message).toMatch(/ at https:\/\/one\.example\/\?\[2J\?: it/)
  const missing = { engines: [engine], uploaded: [false] } as unknown as SharingState
  try {
    refuseUnlessUploaded(missing)
    expect.unreachable()
  } catch (error) {
    expect((error as ClientError).message).toMatch(/missing: https:\/\/one\.example\/\?\[2J\?$/)
  }
})
