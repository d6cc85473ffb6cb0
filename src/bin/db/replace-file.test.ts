import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { replaceFile } from './replace-file.ts'

it('replaces no file that was kept before under the same name', () => {
  const directory = mkdtempSync(join(tmpdir(), 'vouchsafe-replace-'))
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }))
  const at = (name: string): string => join(directory, name)
  const replace = (text: string) => {
    writeFileSync(at('new'), text)
    return replaceFile({ file: at('db'), copy: at('new'), keptFile: at('db.before'), witness: text })
  }
  expect(replace('first')).toBe(undefined)
  writeFileSync(at('db-journal'), 'of the first')
  expect([replace('second'), replace('third'), replace('fourth')]).toEqual([
    at('db.before'),
    at('db.before.2'),
    at('db.before.3'),
  ])
  const texts = ['db', 'db.before', 'db.before-journal', 'db.before.2', 'db.before.3'].map((name) =>
    readFileSync(at(name), 'utf8'),
  )
  expect(texts).toEqual(['fourth', 'first', 'of the first', 'second', 'third'])
  expect(readdirSync(directory)).toHaveLength(6)
})

it('finds a name for what was kept beside a database with the longest name', () => {
  const directory = mkdtempSync(join(tmpdir(), 'vouchsafe-replace-'))
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }))
  const [file, copy] = ['n'.repeat(220), 'copy'].map((name) => join(directory, name)) as [string, string]
  const keptFile = `${file}.before-20261231235959999`
  for (const each of [file, `${file}-journal`, copy, keptFile, `${keptFile}-journal`]) writeFileSync(each, '')
  expect(replaceFile({ file, copy, keptFile, witness: undefined })).toBe(`${keptFile}.2`)
  expect(readdirSync(directory)).toContain(basename(`${keptFile}.2-journal`))
})
