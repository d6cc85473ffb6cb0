import { createPublicKey } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { parseJson } from '../codec/json.ts'
import { orRefuse, ProtocolError } from '../protocol/error.ts'
import { describeCauseForLog, describeErrorForLog, describeRefusalForLog } from './logged-error.ts'

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

  it('says of a refusal which library refused what was sent, and nothing of what was sent', () => {
    const refusal = thrownBy(() => orRefuse('invalid_request', 'the body', () => parseJson('secret-claim'))) as Error
    expect(refusal.message).toBe('the body: it is not JSON')
    expect(describeRefusalForLog(refusal)).toEqual({ name: 'SyntaxError' })
    const unlike = thrownBy(() => orRefuse('invalid_request', 'the body', () => parseJson('{"a":1,"a":1}'))) as Error
    expect(describeRefusalForLog(unlike)).toBeUndefined()
  })

  it('has the message of an error of ours', () => {
    const cause = new Error('the database is read-only')
    expect(describeRefusalForLog(new ProtocolError('temporarily_unavailable', 'later', { cause }))).toBe(cause.message)
  })
})
