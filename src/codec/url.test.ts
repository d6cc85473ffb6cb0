import { describe, expect, it } from 'vitest'
import { partOfLimit } from '../../test/support/processor-time.ts'
import { originFormOf, parseInternationalUrl, parseUrl, removeTrailingSlashes } from './url.ts'

it('loses its slashes at the end, whatever stands there', () => {
  const slashes = '/'.repeat(2000)
  for (const [url, remaining] of [
    ['https://a.example', 'https://a.example'],
    ['https://a.example/', 'https://a.example'],
    [`https://a.example/b${slashes}`, 'https://a.example/b'],
    [`https://a.example${slashes}b`, `https://a.example${slashes}b`],
    [slashes, ''],
    ['', ''],
  ] as const)
    expect(removeTrailingSlashes(url)).toBe(remaining)
})

describe('a URL that may have an international host', () => {
  it('is parsed, also after many that have none', () => {
    // The engine compiles what runs this often.
    for (let count = 0; count < 200_000; count += 1) parseInternationalUrl(`https://a.example/${count}`)
    expect(parseInternationalUrl('https://b\u00fccher.example/x')?.host).toBe('xn--bcher-kva.example')
    expect(parseInternationalUrl('b\u00fccher.example')).toBe(undefined)
  })

  it('has at most 2,048 characters, so that its host costs nothing', async () => {
    const letters = String.fromCodePoint(...Array.from({ length: 2041 }, (_, at) => 0x4e00 + ((at * 7919) % 20_000)))
    expect(parseInternationalUrl(`https://${letters.slice(1)}`)?.protocol).toBe('https:')
    expect(parseInternationalUrl(`https://${letters}`)?.protocol).toBe(undefined)
    const longHost = letters.repeat(50)
    expect(await partOfLimit(40, () => parseInternationalUrl(`https://${longHost}`))).toBeLessThan(1)
  })
})

it('is a path, where a request names the whole address', () => {
  for (const [target, path] of [
    ['/a?b=http://c/d', '/a?b=http://c/d'],
    ['http://a.example/b//c?d#e', '/b//c?d#e'],
    ['HTTPS://user@a.example:443?b', '/?b'],
    ['http://a.example', '/'],
    ['ftp://a.example/b', 'ftp://a.example/b'],
    ['*', '*'],
    ['', ''],
  ] as const)
    expect(originFormOf(target)).toBe(path)
})

describe('a URL that a stranger sends', () => {
  it('is read as the parser of the platform reads it', () => {
    expect(parseUrl('HTTPS://A.example:443/x?y#z')?.href).toBe('https://a.example/x?y#z')
    expect(parseUrl(`https://${'a'.repeat(2040)}`)?.protocol).toBe('https:')
  })

  it.each([
    ['is relative', '/x'],
    ['is empty', ''],
    ['has a blank', 'https://a.example/ '],
    ['has a letter beyond ASCII', 'https://b\u00fccher.example'],
    ['is longer than 2,048 characters', `https://${'a'.repeat(2041)}`],
  ])('is none when it %s', (_, text) => {
    expect(parseUrl(text)).toBe(undefined)
  })

  it('costs nothing before it is refused', async () => {
    const letters = Array.from({ length: 100_000 }, (_, at) => String.fromCodePoint(0x20000 + at)).join('')
    expect(parseUrl(`https://${letters}`)).toBe(undefined)
    expect(await partOfLimit(40, () => parseUrl(`https://${letters}`))).toBeLessThan(1)
  })
})
