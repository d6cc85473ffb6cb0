import { randomBytes } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { readDatabaseKeys } from './encryption-keys.ts'

const read = (text: string) => readDatabaseKeys('keys.txt', { read: () => text })
const [a, b] = [randomBytes(32), randomBytes(32)]

describe('a file of encryption keys', () => {
  it('has one a line, in base64 or base64url, and may have empty lines', () => {
    const text = `${a.toString('base64')}\n\n${b.toString('base64url')}\r\n`
    expect(read(text)).toEqual({ keys: [a, b] })
    expect(readDatabaseKeys(undefined, { read: () => 'x' })).toEqual({ keys: [] })
  })

  it.each([
    ['', /^database.encryptionKeyFile: keys.txt has no key; make one with: openssl rand -base64 32$/],
    ['\n \n', /has no key/],
    [randomBytes(16).toString('base64'), /keys.txt, line 1: it must be 32 bytes in base64 or base64url/],
    [randomBytes(33).toString('base64'), /32 bytes/],
    [`${a.toString('base64')} ${b.toString('base64')}`, /32 bytes/],
    [a.toString('hex'), /32 bytes/],
    [`${a.toString('base64')}\nsecret`, /line 2: it must be 32 bytes/],
    [`"${a.toString('base64url').slice(2)}"`, /32 bytes/],
    [Buffer.alloc(32).toString('base64'), /line 1: it is not random/],
    [Buffer.alloc(32, '0123456789abcde').toString('base64'), /it is not random/],
    [Buffer.from('correct horse battery staple, 32').toString('base64'), /it is not random/],
    [`${a.toString('base64')}\n${b.toString('base64')}\n${a.toString('base64url')}`, /line 3: the same key stands/],
  ])('is refused when it is weak or odd: %#', (text, mistake) => {
    const result = read(text)
    expect('mistakes' in result ? result.mistakes : []).toEqual([expect.stringMatching(mistake)])
    expect(JSON.stringify(result)).not.toContain(a.toString('base64url'))
  })

  it.each([
    ['ENOENT', 'there is no such file: keys.txt; make one with: openssl rand -base64 32'],
    ['EACCES', 'the file may not be read by this user: keys.txt'],
    ['EIO', 'the file cannot be read: keys.txt'],
  ])('that cannot be read is a mistake, and only one that is not there is to be made: %s', (code, why) => {
    const files = {
      read: () => {
        throw Object.assign(new Error('no'), { code })
      },
      list: () => [],
    }
    expect(readDatabaseKeys('keys.txt', files)).toEqual({ mistakes: [`database.encryptionKeyFile: ${why}`] })
  })
})
