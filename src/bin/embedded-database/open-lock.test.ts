import { readdirSync, readlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { temporaryDirectory } from '../../../test/support/command.ts'
import { lockFile } from '../../store/sqlite-lock.ts'
import { isMarkedOpen, lockFileOf, runUnlessOpen, startInTurn } from './open-lock.ts'

/** The open files of this process, which Linux tells. */
const OPEN_FILES = '/proc/self/fd'

function isOpen(file: string): boolean {
  const linkOf = (name: string): string | undefined => {
    try {
      return readlinkSync(join(OPEN_FILES, name))
    } catch {
      return undefined
    }
  }
  return readdirSync(OPEN_FILES).some((name) => linkOf(name) === file)
}

it.skipIf(process.platform !== 'linux')('a mark that cannot be set leaves no file open', async () => {
  const database = join(temporaryDirectory(), 'a.db')
  const start = () => {
    writeFileSync(lockFileOf(database), 'not a database '.repeat(1000))
    return Promise.resolve()
  }
  await expect(startInTurn(database, start)).rejects.toThrow('not a database')
  expect(isOpen(lockFileOf(database))).toBe(false)
})

it('work is done where another process only looks whether the database is open, and not where it is', async () => {
  const database = join(temporaryDirectory(), 'a.db')
  const endMark = await startInTurn(database, () => Promise.resolve())
  let works = 0
  const work = () =>
    runUnlessOpen(database, () => {
      works += 1
    })
  await work()
  expect([works, await isMarkedOpen(database)]).toEqual([0, true])
  endMark()
  // Another process that ends its mark at the same moment has such a lock while it tries to have the file alone.
  const endLook = await lockFile(lockFileOf(database), 'immediate')
  setImmediate(() => endLook?.())
  await work()
  expect([works, await isMarkedOpen(database)]).toEqual([1, false])
})
