import { randomBytes } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { testDatabase } from '../../test/support/store.ts'
import { encryptStore, makeDatabaseKey } from '../store/encrypted.ts'
import { END_OF_TIME } from '../store/store.ts'
import { type EngineCollections, engineEncryptedCollections, engineMigrations } from './collections.ts'

const contract = `00${'a1'.repeat(20)}`

describe('the database of an engine, to which somebody else has written', () => {
  it('gives back neither what was moved to another place nor what is in the clear', async () => {
    const open = testDatabase<EngineCollections>(engineMigrations)
    const [plain, below] = [await open(), await open()]
    const keys = [makeDatabaseKey(randomBytes(32))]
    const settings = {
      collections: engineEncryptedCollections,
      retentionMs: Infinity,
      refusesPlaintext: true,
      random: randomBytes,
    }
    const store = await encryptStore(below, { ...settings, keys, now: new Date() })
    const value = { value: 'c2hhcmU', bytes: 5 }
    await store.commit([{ insert: 'component_storage', id: 'mine', value }])
    const sealed = await plain.get('component_storage', 'mine')
    await plain.commit([{ insert: 'component_storage', id: 'yours', value: sealed?.value ?? value }])
    await plain.commit([{ insert: 'component_storage', id: 'clear', value }])
    const forged = { contract, payload: '', gas: '0', createdAt: 0 }
    await plain.commit([{ insert: 'outbox', id: 'forged', value: forged, dueAt: new Date(0) }])
    expect((await store.get('component_storage', 'mine'))?.value).toEqual(value)
    await expect(store.get('component_storage', 'yours')).rejects.toThrow()
    await expect(store.get('component_storage', 'clear')).rejects.toThrow(/in the clear/)
    const [row] = await store.listDue('outbox', END_OF_TIME, 10)
    expect(() => row?.value).toThrow(/in the clear/)
    await store.close()
    await plain.close()
  })
})
