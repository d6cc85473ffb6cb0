import { createSecretKey } from 'node:crypto'
import { expect, it } from 'vitest'
import { readMacToken } from '../codec/mac-token.ts'
import { makeNonce } from './access/c-nonce.ts'
import { createReusableNonces } from './access/reusable-nonce.ts'
import { makeNotificationId } from './credential-endpoint/notification.ts'

const secret = createSecretKey(Buffer.alloc(32, 1))
const other = createSecretKey(Buffer.alloc(32, 2))
const now = new Date('2026-06-01T12:00:00Z')
const context = {
  secrets: { nonce: [secret], notification: [secret] },
  random: (bytes: number) => Buffer.alloc(bytes, 7),
  now: () => now,
} as const

it('nonces and notification ids are those of earlier releases, which wallets may still hold', () => {
  expect(makeNonce(context, 'session')).toBe('AZ6DEq3gBwcHBwcHBwcHBwcHBwcHB80_bDQd0dmNEqZE4J6AQ-s')
  expect(makeNonce(context, undefined)).toBe('AZ6DEq3gBwcHBwcHBwcHBwcHBwcHB_qosUsFnGKv3sgR7SSdv3k')
  expect(createReusableNonces([secret]).getCurrent(now)).toBe('AAADiYPgOSoqV9RM7JDmf1ZZtdn_eA')
  expect(makeNotificationId(context, 'session', 3)).toBe('AANTM26HhJDwl2AfdIo7Nhp5')
})

it('a token is read with each secret, and no other text is', () => {
  const token = makeNotificationId(context, 'session', 3)
  const read = (text: string, bound = 'session') => readMacToken([other, secret], text, 2, bound)
  expect(read(token)).toEqual(Buffer.of(0, 3))
  expect(readMacToken([other], token, 2, 'session')).toBe(undefined)
  expect(readMacToken([secret], token, 3, 'session')).toBe(undefined)
  expect(read(token, 'another')).toBe(undefined)
  for (const text of ['', token.slice(0, -1), `${token}A`, `${token}=`, ` ${token}`]) expect(read(text)).toBe(undefined)
  for (let at = 0; at < token.length; at += 1) {
    const changed = `${token.slice(0, at)}${token[at] === 'A' ? 'B' : 'A'}${token.slice(at + 1)}`
    expect(read(changed)).toBe(undefined)
  }
})
