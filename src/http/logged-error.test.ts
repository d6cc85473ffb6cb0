import { createPublicKey } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { parseJson } from '../codec/json.ts'
import { ProtocolError, readOrRefuse } from '../protocol/error.ts'
import {
  describeCauseForLog,
  describeErrorBehindRefusal,
  describeErrorForLog,
  describeRefusalForLog,
} from './logged-error.ts'

function thrownBy(run: () => unknown): unknown {
  try {
    run()
  } catch (error) {
    return error
  }
  throw new Error('nothing was thrown')
}

describe('an error in the log', () => {
  it('has the reason of OpenSSL', () => {
    const error = thrownBy(() => createPublicKey({ key: Buffer.from('3000', 'hex'), format: 'der', type: 'spki' }))
    // Node 24 gives such an error no code.
    const { code = 'ERR_OSSL_', ...others } = describeCauseForLog(error)
    expect(code).toMatch(/^ERR_OSSL_/)
    expect(others).toEqual({ name: 'Error', reason: expect.stringMatching(/^[a-z0-9 ]+$/) as unknown })
  })

  it('has no message, which may quote what was sent', () => {
    const quoting = thrownBy(() => JSON.parse('secret-claim'))
    expect(String(quoting)).toContain('secret')
    const outer = new Error('a token: secret\n    at secret (secret.ts:1:1)', { cause: quoting })
    const logged = describeErrorForLog(outer)
    expect(JSON.stringify(logged)).not.toContain('secret')
    expect(logged).toMatchObject({ name: 'Error', cause: { name: 'SyntaxError' } })
    expect(logged.stack).toContain('logged-error.test.ts')
    expect(describeCauseForLog(Object.assign(new Error('a'), { name: 'secret claim', code: 'secret' }))).toEqual({
      name: 'Error',
    })
  })

  it('tells of a few causes, and of a value that is not an error its type alone', () => {
    const chain = Array.from({ length: 20 }).reduce<Error>((cause) => new Error('a', { cause }), new Error('a'))
    expect(JSON.stringify(describeErrorForLog(chain)).split('"name"')).toHaveLength(6)
    expect(describeErrorForLog('secret')).toEqual({ name: 'string' })
  })

  it('tells of the errors that several attempts ended with', () => {
    const logged = describeErrorForLog(new AggregateError([new TypeError('secret'), new RangeError('secret')]))
    expect(logged).toMatchObject({ name: 'AggregateError', errors: [{ name: 'TypeError' }, { name: 'RangeError' }] })
    expect(JSON.stringify(logged)).not.toContain('secret')
  })

  it('says of a refusal which library refused what was sent, and nothing of what was sent', () => {
    const refusal = thrownBy(() =>
      readOrRefuse('invalid_request', 'the body', () => parseJson('secret-claim')),
    ) as Error
    expect(refusal.message).toBe('the body: it is not JSON')
    expect(describeRefusalForLog(refusal)).toEqual({ name: 'SyntaxError' })
    const unlike = thrownBy(() =>
      readOrRefuse('invalid_request', 'the body', () => parseJson('{"a":1,"a":1}')),
    ) as Error
    expect(describeRefusalForLog(unlike)).toBeUndefined()
  })

  it('has the message of an error of ours', () => {
    const cause = new Error('the database is read-only')
    expect(describeRefusalForLog(new ProtocolError('temporarily_unavailable', 'later', { cause }))).toBe(cause.message)
  })

  it('has the kind and the place of the error behind the reason of a refusal, and nothing of its message', () => {
    const cause = new Error('the server cannot be asked', { cause: new TypeError('secret') })
    const logged = describeErrorBehindRefusal(new ProtocolError('temporarily_unavailable', 'later', { cause }))
    expect(logged).toMatchObject({
      name: 'TypeError',
      stack: expect.stringContaining('logged-error.test.ts') as string,
    })
    expect(JSON.stringify(logged)).not.toContain('secret')
    const refusal = thrownBy(() => readOrRefuse('invalid_request', 'the body', () => parseJson('a'))) as Error
    expect(describeErrorBehindRefusal(refusal)).toBeUndefined()
  })
})
