import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { temporaryDirectory } from '../../test/support/command.ts'
import { loadDriver, openSqlite } from '../store/sqlite.ts'
import { createCollection, type Store } from '../store/store.ts'
import { indexCheckpointKeys } from './checkpoint.ts'
import { type AuditCollections, blockId, HEAD } from './collections.ts'
import { exportLog, readBlockLines } from './copy.ts'
import { chainRecords, LOG_START_TYPE, ORIGIN, writeRecord } from './record.ts'
import { BEFORE_FIRST, verifyNextStretch } from './stretch.ts'
import { verifyCopy } from './verify.ts'

const collections = ['audit_head', 'audit_block', 'audit_checkpoint'] as const
const migrations = collections.map((name) => ({ id: name, statements: createCollection(name) }))
const entries = [
  { at: '2026-06-01T12:00:00.000Z', type: LOG_START_TYPE, subject: 'a log' },
  { at: '2026-06-01T12:00:01.000Z', type: 'issuance.started', subject: 's' },
  { at: '2026-06-01T12:00:02.000Z', type: 'issuance.started', subject: 't' },
]

it('takes a mistake of this program for no damage of the database', async () => {
  const mistake = new TypeError('a mistake')
  const store = { get: () => Promise.reject(mistake) } as unknown as Store<AuditCollections>
  await expect(readBlockLines(store, 1)).rejects.toBe(mistake)
})

describe('a block that cannot be read', () => {
  it.each(['personal data', '{"records":[null]}', '{"records":5}', '{}', 'null'])(
    'is named, and hides none of the others: %s',
    async (value) => {
      const file = join(temporaryDirectory(), 'a.db')
      const store = await openSqlite<AuditCollections>(file, migrations)
      onTestFinished(() => store.close())
      const records = chainRecords(ORIGIN, entries)
      const head = { log: 'a log', block: 3, sequence: 3, hash: records[2]?.hash ?? '' }
      await store.commit([
        ...records.map(
          (record, at) => ({ insert: 'audit_block', id: blockId(at + 1), value: { records: [record] } }) as const,
        ),
        { insert: 'audit_head', id: HEAD, value: head },
      ])
      const database = new (await loadDriver())(file)
      database.prepare('update audit_block set value = ? where id = ?').run(value, blockId(2))
      database.close()

      const lines: string[] = []
      for await (const line of exportLog(store)) lines.push(line)
      const [first, , last] = records.map(writeRecord)
      expect(lines).toEqual([first, '{"damaged":2}', last])
      const keys = indexCheckpointKeys([])
      const inDatabase = await verifyNextStretch(store, keys, { head, start: BEFORE_FIRST })
      for (const { problems } of [await verifyCopy(lines, keys, []), inDatabase]) {
        expect(problems.join()).toContain('block 2 of the log cannot be read in the database')
        expect(problems.join()).not.toContain('personal')
      }
    },
  )
})
