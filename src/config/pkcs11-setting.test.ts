import { describe, expect, it } from 'vitest'
import { readIssuerConfig } from '../issuer/config.ts'
import type { Files } from './files.ts'
import { readPkcs11Setting } from './pkcs11-setting.ts'

const TOKEN = { module: '/token.so', keyLabel: 'signing', pinFile: 'pin' }
const filesWith = (pin: string): Files => ({
  read: (path) => {
    if (path !== 'pin') throw Object.assign(new Error('no'), { code: 'ENOENT' })
    return pin
  },
  list: () => [],
  resolveLink: (path) => path,
})

describe('the setting of a key in a token', () => {
  it('names the token by its label or its slot, and has the PIN from a file', () => {
    const common = { module: '/token.so', keyLabel: 'signing', pin: ' 12 34' }
    const files = filesWith(' 12 34\r\n')
    expect(readPkcs11Setting('a', { ...TOKEN, tokenLabel: 'issuer' }, files)).toEqual({
      pkcs11Key: { ...common, place: { tokenLabel: 'issuer' } },
    })
    expect(readPkcs11Setting('a', { ...TOKEN, slot: 0 }, files)).toEqual({
      pkcs11Key: { ...common, place: { slot: 0 } },
    })
  })

  it.each([
    [TOKEN, '1234', ['a: name the token either by tokenLabel or by slot']],
    [{ ...TOKEN, tokenLabel: 'x', slot: 1 }, '1234', ['a: name the token either by tokenLabel or by slot']],
    [{ ...TOKEN, slot: 1, pinFile: 'none' }, '1234', ['a.pinFile: there is no such file: none']],
    [{ ...TOKEN, slot: 1 }, '\n', ['a.pinFile: it must have the PIN on one line: pin']],
    [{ ...TOKEN, slot: 1 }, '1234\n5678\n', ['a.pinFile: it must have the PIN on one line: pin']],
  ])('is refused with all its mistakes: %#', (setting, pin, mistakes) => {
    const result = readPkcs11Setting('a', setting, filesWith(pin))
    expect(result).toEqual({ mistakes })
    expect(JSON.stringify(result)).not.toContain('1234')
  })

  const mistakesOf = (signing: object, more: object = {}): readonly string[] => {
    const issuer = { id: 'https://issuer.example', display: { name: 'Uni' } }
    const integrations = { authentication: { ['k'.repeat(64)]: 'test' } }
    const settings = { baseUrl: 'https://issuer.example', issuer, integrations, signing, ...more }
    const result = readIssuerConfig(settings, filesWith('1234'), new Date())
    return 'mistakes' in result ? result.mistakes : []
  }

  it('stands in the place of a file, and needs a file of secrets', () => {
    const pkcs11 = { ...TOKEN, tokenLabel: 'issuer' }
    expect(mistakesOf({ certificateFiles: ['none'] })).toContain('signing.keyFile: required')
    expect(mistakesOf({ certificateFiles: ['none'], keyFile: 'none', pkcs11 })).toContain(
      'signing: the key is either in keyFile or in a token (pkcs11); take one out',
    )
    expect(mistakesOf({ certificateFiles: ['none'], pkcs11 })).toEqual([
      'signing.certificateFiles[0]: there is no such file: none',
      expect.stringMatching(/^secretsFile: required, as nothing can be derived from a key in a token; make one/),
    ])
    expect(mistakesOf({ certificateFiles: ['none'], pkcs11: { ...pkcs11, modul: 'x' } })).toContain(
      'signing.pkcs11.modul: unknown setting or field; did you mean module?',
    )
  })
})
