/** Why something was refused, for tests that compare the sentences. */
import { expect } from 'vitest'
import { ProtocolError } from '../../src/protocol/error.ts'

/** Returns the message of the `invalid_request` that `check` refuses with, or `taken` where it refuses nothing. */
export function refusalOrTaken(check: () => unknown): string {
  try {
    check()
  } catch (error) {
    expect(error).toBeInstanceOf(ProtocolError)
    expect((error as ProtocolError).code).toBe('invalid_request')
    return (error as ProtocolError).message
  }
  return 'taken'
}
