import { generateKeyPairSync, randomBytes } from 'node:crypto'
import { expect, it } from 'vitest'
import { pathForMessages } from './path-for-messages.ts'

it.each([
  'conf/issuer.key',
  '/etc/vouchsafe/keys-of-production/2026/issuer.key',
  'C:\\keys\\issuer.key',
  'key',
  '/etc/vouchsafe/keys-of-production/issuer-2026',
])('a path is shown: %s', (path) => expect(pathForMessages(path)).toBe(path))

it('a key is not, in whatever form', () => {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const bytes = randomBytes(32)
  const pem = privateKey.export({ type: 'pkcs8', format: 'pem' }).toString()
  for (const key of [pem, pem.replace(/\n/g, ''), bytes.toString('hex'), bytes.toString('base64')]) {
    expect(pathForMessages(key)).toBe('(it looks like a key; write the name of its file)')
  }
})
