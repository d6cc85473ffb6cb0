import { generateKeyPair } from 'node:crypto'
import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { pino } from 'pino'
import { expect, it } from 'vitest'
import { readIdentity } from '../../engine/engine-key.ts'
import { loadDriver } from '../../store/sqlite.ts'
import { openStore } from './store.ts'

const freshIdentity = async () => {
  const { privateKey } = await promisify(generateKeyPair)('ec', { namedCurve: 'secp256k1' })
  return readIdentity(privateKey.export({ format: 'pem', type: 'pkcs8' }).toString())
}

/** Makes a database that an engine has used, with the settings that it was opened with. */
async function usedDatabase() {
  const file = join(mkdtempSync(join(tmpdir(), 'vouchsafe-engine-store-')), 'engine.db')
  const config = { database: { kind: 'sqlite', file }, identity: await freshIdentity() } as const
  const store = await openStore(config)
  if ('mistake' in store) throw new Error(store.mistake)
  await store.close()
  return { file, config }
}

it('a database of an engine with another key is a mistake in identity.keyFile', async () => {
  const { file, config } = await usedDatabase()
  expect(await openStore({ ...config, identity: await freshIdentity() })).toEqual({
    mistake: `identity.keyFile: the database ${file} is of an engine with another key`,
  })
})

it('a database whose keys cannot be read says so, and nothing of another key', async () => {
  const { file, config } = await usedDatabase()
  const Database = await loadDriver()
  const database = new Database(file)
  database.exec("update encryption_key set value = 'damaged'")
  database.close()
  expect(await openStore(config)).toEqual({
    mistake: expect.stringMatching(/^database\.url: .*engine\.db: .*is damaged: it is not JSON/) as string,
    isTemporary: false,
  })
})

it('an engine that was restored says what that means for its components, and nothing of sessions', async () => {
  const { config } = await usedDatabase()
  const lines: string[] = []
  const log = pino({}, { write: (line: string) => void lines.push(line) })
  const store = await openStore(config, { log, isRestored: true })
  if ('mistake' in store) throw new Error(store.mistake)
  await store.close()
  const [line = ''] = lines.filter((text) => text.includes('database_restored'))
  expect(line).toMatch(/values that components bound to their generation are void/)
  expect(line).toMatch(/requests that were used since are good again, for five minutes at most/)
  expect(line).not.toMatch(/session|status list/)
})
