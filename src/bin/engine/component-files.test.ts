import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, it } from 'vitest'
import { sha256Hex } from '../../codec/digest.ts'
import { SourceError } from '../../engine/component-source.ts'
import { createComponentFiles } from './component-files.ts'

const BYTES = Buffer.from('bytes')
const SHA256 = sha256Hex(BYTES)
const KEPT = Buffer.from('kept')
const isNamed = () => true
const home = mkdtempSync(join(tmpdir(), 'vouchsafe-component-files-'))
afterAll(() => rmSync(home, { recursive: true, force: true }))

/** Makes a directory whose component `make` makes. */
function makeDirectory(name: string, make: (file: string) => void = () => undefined): string {
  const directory = join(home, name)
  mkdirSync(directory)
  make(join(directory, SHA256))
  return directory
}

const writeBytes = (file: string): void => writeFileSync(file, BYTES)
/** Makes what no user can read as a file, not even root: a directory. */
const makeUnreadable = (file: string): void => mkdirSync(file)

it('finds a component in any of the directories, and none where no directory has it', async () => {
  const [empty, full] = [makeDirectory('empty'), makeDirectory('full', writeBytes)]
  expect(await createComponentFiles([join(home, 'missing'), empty, full]).read(SHA256, 10)).toEqual(BYTES)
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
  expect(await createComponentFiles([larger, right]).read(SHA256, 5)).toEqual(BYTES)
})

it('takes a component from another directory where the first cannot be read', async () => {
  const [unreadable, other] = [makeDirectory('first', makeUnreadable), makeDirectory('other', writeBytes)]
  expect(await createComponentFiles([unreadable, other]).read(SHA256, 100_000)).toEqual(BYTES)
})

it('says of a component with other bytes than its name says where it is, and takes it from another directory', async () => {
  const [forged, right] = [
    makeDirectory('forged', (file) => writeFileSync(file, 'other')),
    makeDirectory('genuine', writeBytes),
  ]
  await expect(createComponentFiles([forged]).read(SHA256, 100_000)).rejects.toThrow(
    `the file ${join(forged, SHA256)} has other bytes than its name says; take it away`,
  )
  expect(await createComponentFiles([forged, right]).read(SHA256, 100_000)).toEqual(BYTES)
})

it('keeps a component apart in the first directory, which it makes, and finds it there', async () => {
  const first = join(home, 'made')
  const files = createComponentFiles([first, join(home, 'second')])
  await files.keep(sha256Hex(KEPT), KEPT, isNamed)
  expect([readdirSync(first), readdirSync(join(first, 'fetched'))]).toEqual([['fetched'], [sha256Hex(KEPT)]])
  expect(await files.read(sha256Hex(KEPT), 100)).toEqual(KEPT)
})

it('has a component fetched again whose kept file is broken', async () => {
  const first = join(home, 'broken')
  const files = createComponentFiles([first])
  await files.keep(SHA256, BYTES, isNamed)
  truncateSync(join(first, 'fetched', SHA256), 0)
  expect(await files.read(SHA256, 100)).toBeUndefined()
  await files.keep(SHA256, BYTES, isNamed)
  expect(await files.read(SHA256, 100)).toEqual(BYTES)
})

it('drops the oldest of what was fetched and no contract names, and nothing that was placed', async () => {
  const directory = makeDirectory('dropping')
  const fetched = join(directory, 'fetched')
  mkdirSync(join(fetched, 'folder'), { recursive: true })
  const large = ['placed', 'fetched/named', 'fetched/oldest', 'fetched/older', 'fetched/newest']
  for (const [age, name] of large.entries()) {
    writeFileSync(join(directory, name), '')
    truncateSync(join(directory, name), 30 * 1024 * 1024)
    utimesSync(join(directory, name), age, age)
  }
  await createComponentFiles([directory]).keep(SHA256, BYTES, (sha256) => sha256 === 'named')
  expect(large.filter((name) => !existsSync(join(directory, name)))).toEqual(['fetched/oldest'])
  expect(readdirSync(fetched)).toEqual([SHA256, 'folder', 'named', 'newest', 'older'].sort())
})

it('drops small files too, of which there may be many', async () => {
  const directory = makeDirectory('small')
  const fetched = join(directory, 'fetched')
  mkdirSync(fetched)
  for (let each = 0; each < 1100; each++) writeFileSync(join(fetched, String(each)), '')
  await createComponentFiles([directory]).keep(SHA256, BYTES, () => false)
  expect(readdirSync(fetched)).toHaveLength(1025)
})

it('says of a component that cannot be kept where and why, and leaves no part of it', async () => {
  const fetched = join(makeDirectory('occupied'), 'fetched')
  mkdirSync(join(fetched, SHA256), { recursive: true })
  const keeping = createComponentFiles([join(home, 'occupied')]).keep(SHA256, BYTES, isNamed)
  await expect(keeping).rejects.toThrow(SourceError)
  await expect(keeping).rejects.toMatchObject({
    message: `the component cannot be kept in ${fetched} (EISDIR); name another componentDirectory`,
    cause: { code: 'EISDIR' },
  })
  expect(readdirSync(fetched)).toEqual([SHA256])
  const below = join(makeDirectory('file', writeBytes), SHA256, 'below')
  await expect(createComponentFiles([below]).keep(SHA256, BYTES, isNamed)).rejects.toThrow(SourceError)
})
