import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, it } from 'vitest'
import { SourceError } from '../../engine/component-source.ts'
import { createComponentFiles } from './component-files.ts'

const SHA256 = 'ab'.repeat(32)
const home = mkdtempSync(join(tmpdir(), 'vouchsafe-component-files-'))
afterAll(() => rmSync(home, { recursive: true, force: true }))

/** Makes a directory whose component `make` makes. */
function makeDirectory(name: string, make: (file: string) => void = () => undefined): string {
  const directory = join(home, name)
  mkdirSync(directory)
  make(join(directory, SHA256))
  return directory
}

const writeBytes = (file: string): void => writeFileSync(file, 'bytes')
/** Makes what no user can read as a file, not even root: a directory. */
const makeUnreadable = (file: string): void => mkdirSync(file)

it('finds a component in any of the directories, and none where no directory has it', async () => {
  const [empty, full] = [makeDirectory('empty'), makeDirectory('full', writeBytes)]
  expect(await createComponentFiles([join(home, 'missing'), empty, full]).read(SHA256, 10)).toEqual(
    Buffer.from('bytes'),
  )
  expect(await createComponentFiles([join(home, 'missing'), empty]).read(SHA256, 10)).toBeUndefined()
})

it('says of a component that cannot be read that it is there, and why it cannot be read', async () => {
  const unreadable = makeDirectory('unreadable', makeUnreadable)
  const reading = createComponentFiles([unreadable, join(home, 'none')]).read(SHA256, 100_000)
  await expect(reading).rejects.toThrow(SourceError)
  await expect(reading).rejects.toMatchObject({
    message: `the file ${join(unreadable, SHA256)} cannot be read (EISDIR): let the user of the engine read it, or take it away`,
    cause: { code: 'EISDIR' },
  })
})

it('says of a component that is too large how large it is, and how large it may be', async () => {
  const large = makeDirectory('large', writeBytes)
  const reading = createComponentFiles([large, join(home, 'none')]).read(SHA256, 4)
  await expect(reading).rejects.toThrow(SourceError)
  await expect(reading).rejects.toMatchObject({
    message: `the file ${join(large, SHA256)} is too large: it has 5 bytes, and limits.moduleBytes allows 4; raise that limit, or take the file away`,
  })
})

it('takes a component from another directory where the first is too large', async () => {
  const [larger, right] = [
    makeDirectory('larger', (file) => writeFileSync(file, 'more bytes')),
    makeDirectory('right', writeBytes),
  ]
  expect(await createComponentFiles([larger, right]).read(SHA256, 5)).toEqual(Buffer.from('bytes'))
})

it('takes a component from another directory where the first cannot be read', async () => {
  const [unreadable, other] = [makeDirectory('first', makeUnreadable), makeDirectory('other', writeBytes)]
  expect(await createComponentFiles([unreadable, other]).read(SHA256, 100_000)).toEqual(Buffer.from('bytes'))
})

it('keeps a component in the first directory, which it makes, and leaves no other file there', async () => {
  const first = join(home, 'made')
  await createComponentFiles([first, join(home, 'second')]).keep(SHA256, Buffer.from('kept'))
  expect([readdirSync(first), readFileSync(join(first, SHA256), 'utf8')]).toEqual([[SHA256], 'kept'])
})

it('says of a component that cannot be kept where and why, and leaves no part of it', async () => {
  const occupied = makeDirectory('occupied', makeUnreadable)
  const keeping = createComponentFiles([occupied]).keep(SHA256, Buffer.from('bytes'))
  await expect(keeping).rejects.toThrow(SourceError)
  await expect(keeping).rejects.toMatchObject({
    message: `the component cannot be kept in ${occupied} (EISDIR); name another componentDirectory`,
    cause: { code: 'EISDIR' },
  })
  expect(readdirSync(occupied)).toEqual([SHA256])
  const below = join(makeDirectory('file', writeBytes), SHA256, 'below')
  await expect(createComponentFiles([below]).keep(SHA256, Buffer.from('bytes'))).rejects.toThrow(SourceError)
})
