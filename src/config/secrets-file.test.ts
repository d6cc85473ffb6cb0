import { randomBytes } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { readSecretsFile } from './secrets-file.ts'

const read = (text: string) => readSecretsFile({ secretsFile: 'secrets' }, { read: () => text })
const [a, b] = [randomBytes(32), randomBytes(32)]

describe('a file of secrets', () => {
  it('has a version on each line, of which one may be the signing key, and comments', () => {
    const text = `# July\n${a.toString('base64')}\n\nsigning-key\n${b.toString('base64url')}\r\n`
    expect(read(text)).toEqual({ secrets: [a, 'signing-key', b] })
  })

  it('may be left out: the signing key is the source then', () => {
    expect(readSecretsFile({}, { read: () => 'x' })).toEqual({ secrets: ['signing-key'] })
  })

  it.each([
    ['', /^secretsFile: secrets has no key; make one with: openssl rand -base64 32$/],
    ['# nothing\n', /has no key/],
    ['signing-keys', /line 1: it must be 32 bytes in base64/],
    [`${a.toString('base64')} # July`, /line 1: it must be 32 bytes/],
    [`signing-key\n${a.toString('base64')}\nsigning-key`, /line 3: signing-key stands there twice/],
    [`${a.toString('base64')}\n${a.toString('base64url')}`, /line 2: the same key stands there twice/],
    [`${a.toString('base64')}\na\n\nb`, /secrets, lines 2 and 4: it must be 32 bytes/],
    [`${a.toString('base64')}\n${'a\n'.repeat(9)}`, /secrets, lines 2, 3, 4 and 6 more: it must be 32 bytes/],
    [
      '-----BEGIN PRIVATE KEY-----\nMIGH\nAgEA\n-----END PRIVATE KEY-----\n',
      /^secretsFile: secrets is another kind of file: .* 32 bytes in base64 .*; name another, or make one with: openssl/,
    ],
  ])('is refused when it is odd: %#', (text, mistake) => {
    const result = read(text)
    expect('mistakes' in result ? result.mistakes : []).toEqual([expect.stringMatching(mistake)])
    expect(JSON.stringify(result)).not.toContain(a.toString('base64').slice(0, 8))
  })
})
