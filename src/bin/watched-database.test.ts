import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pino } from 'pino'
import { describe, expect, it } from 'vitest'
import { openSqlite } from '../store/sqlite.ts'
import { createCollection } from '../store/store.ts'
import { watchDatabase } from './watched-database.ts'

interface Things {
  readonly thing: { readonly text: string }
}

const migrations = [{ id: '1', statements: createCollection('thing') }]
const insert = { insert: 'thing', id: 'a', value: { text: '' } } as const

/** Opens a database on a disk whose writes fail with the result code of SQLite. */
async function onDisk(errcode: number) {
  const file = join(mkdtempSync(join(tmpdir(), 'vouchsafe-watched-')), 'test.db')
  const store = await openSqlite<Things>(file, migrations)
  const refusal = () => Promise.reject(Object.assign(new Error('no room'), { errcode }))
  return watchDatabase({ ...store, commit: refusal }, file, pino({ enabled: false }))
}

describe('a database on a disk that has refused a write', () => {
  it.each([
    ['is full', 13],
    ['is broken, in an extended code', 778],
    ['can only be read', 8],
  ])('is known to take nothing for a while where the disk %s', async (_, errcode) => {
    const store = await onDisk(errcode)
    await store.checkMedium?.()
    await expect(store.commit([insert])).rejects.toThrow('no room')
    await expect(store.checkMedium?.()).rejects.toThrow('the disk has refused a write')
    await store.close()
  })

  it('is nothing of the kind where the database was busy', async () => {
    const store = await onDisk(5)
    await expect(store.commit([insert])).rejects.toThrow('no room')
    await store.checkMedium?.()
    await store.close()
  })
})
