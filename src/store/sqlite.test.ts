import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { openSqlite } from './sqlite.ts'
import { storeContract } from './store.contract.ts'
import { createCollection } from './store.ts'

const fresh = () => join(mkdtempSync(join(tmpdir(), 'vouchsafe-store-')), 'test.db')

describe('SQLite', () => {
  storeContract(fresh, (file, migrations) => openSqlite(file, migrations))

  it('keeps its statements working when garbage is collected between them', async () => {
    const store = await openSqlite<{ thing: { n: number } }>(fresh(), [
      { id: '1', statements: createCollection('thing') },
    ])
    for (let i = 0; i < 2000; i++) {
      await store.commit([{ insert: 'thing', id: String(i), value: { n: i } }])
      if (i % 500 === 0) Array.from({ length: 1e5 }, () => ({}))
    }
    expect(await store.get('thing', '1999')).toMatchObject({ value: { n: 1999 } })
    await store.close()
  })
})
