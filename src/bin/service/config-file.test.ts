import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, it } from 'vitest'
import { readConfigFile } from './config-file.ts'

const directory = mkdtempSync(join(tmpdir(), 'vouchsafe-config-file-'))
afterAll(() => rmSync(directory, { recursive: true, force: true }))

it('says where a missing file was looked for, and how one is made', () => {
  const file = join(directory, 'missing.json')
  expect(readConfigFile(file, 'issuer')).toEqual({
    mistakes: [expect.stringMatching(/: it is looked for in .*; make one with: .* init issuer$/) as string],
  })
})

it('says of a file that is there and cannot be read why not, and nothing of making one', () => {
  const file = join(directory, 'loop.json')
  symlinkSync('loop.json', file)
  expect(readConfigFile(file, 'issuer')).toEqual({ mistakes: [`${file}: the file cannot be read (ELOOP)`] })
})

it('says that an API key is there twice without the key', () => {
  const file = join(directory, 'twice.json')
  writeFileSync(file, '{"integrations": {"authentication": {"my.secret: key": "a", "my.secret: key": "b"}}}')
  const mistake = `${file}: integrations.authentication (an API key): this member is there twice`
  expect(readConfigFile(file)).toEqual({ mistakes: [mistake] })
  writeFileSync(file, '{"signing": {"a": 1, "a": 2}}')
  expect(readConfigFile(file)).toEqual({ mistakes: [`${file}: signing.a: this member is there twice`] })
})

it('names the byte order mark of a file, which nobody sees', () => {
  const file = join(directory, 'marked.json')
  writeFileSync(file, '\uFEFF{"port": 80}')
  const mistake = `${file}: it begins with a byte order mark; save it as UTF-8 without one`
  expect(readConfigFile(file)).toEqual({ mistakes: [mistake] })
})

it.each(['', ' \n'])('says that a file with %j has nothing in it', (text) => {
  const file = join(directory, 'empty.json')
  writeFileSync(file, text)
  expect(readConfigFile(file, 'issuer')).toEqual({
    mistakes: [
      expect.stringMatching(/: the file is empty; make one in another directory with: .* init issuer$/) as string,
    ],
  })
})
