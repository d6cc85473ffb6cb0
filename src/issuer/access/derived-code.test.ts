import { createSecretKey } from 'node:crypto'
import { expect, it } from 'vitest'
import { findIdOfDerivedCode, makeDerivedCode } from './derived-code.ts'

const secrets = Array.from({ length: 20 }, (_, at) => createSecretKey(Buffer.alloc(32, at)))
const [secret = expect.fail(), ...others] = secrets

it('has 256 bits that come of the secret, and of no other', () => {
  const code = makeDerivedCode([secret], 'session')
  const [id, rest = ''] = code.split('.')
  expect([id, Buffer.from(rest, 'base64url').length]).toEqual(['session', 32])
  expect(makeDerivedCode([secret], 'session')).toBe(code)
  const codes = secrets.map((each) => makeDerivedCode([each], 'session'))
  expect(new Set([...codes, makeDerivedCode([secret], 'another')]).size).toBe(21)

  expect(findIdOfDerivedCode([others[0] ?? expect.fail(), secret], code)).toBe('session')
  expect(others.map((each) => findIdOfDerivedCode([each], code))).toEqual(others.map(() => undefined))
  for (const guess of ['session.', 'session', `another.${rest}`, code.slice(0, -1), `${code}A`, ''])
    expect(findIdOfDerivedCode([secret], guess)).toBe(undefined)
})
