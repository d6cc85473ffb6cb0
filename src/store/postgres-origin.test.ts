/** The check of new connections, on origins that a server could give. */
import { describe, expect, it } from 'vitest'
import { createOriginCheck } from './postgres-origin.ts'

const ORIGIN = '7000.00000001.5.16384'

/** Checks a connection for each origin in turn, and returns how often another database was found. */
async function countReplaced(origins: readonly string[], hasSynchronousStandbys = false): Promise<number> {
  let replaced = 0
  const onReplaced = (): void => {
    replaced += 1
  }
  const check = createOriginCheck({ hasSynchronousStandbys, onReplaced })
  for (const origin of origins) await check(() => Promise.resolve({ rows: [{ origin }], rowCount: 1 }))
  return replaced
}

describe('a new connection', () => {
  it.each([
    ['to the same database', [ORIGIN, ORIGIN], 0],
    ['to a standby that took over', [ORIGIN, '7000.00000002.5.16384'], 1],
    ['to another server', [ORIGIN, '7001.00000001.5.16384'], 1],
    ['to a dump that was restored', [ORIGIN, '7000.00000001.5.16500'], 1],
    ['to the same database by a user who lost a right', [ORIGIN, '5.16384'], 0],
    ['to the same database by a user who got a right', ['5.16384', ORIGIN], 0],
    ['to a restored dump by a user who lost a right', [ORIGIN, '6.16384'], 1],
  ])('%s', async (_, origins, replaced) => {
    expect(await countReplaced(origins)).toBe(replaced)
  })

  it('to a standby that has every commit leads to the same database, and one of an earlier timeline does not', async () => {
    expect(await countReplaced([ORIGIN, '7000.00000002.5.16384'], true)).toBe(0)
    expect(await countReplaced(['7000.00000002.5.16384', ORIGIN], true)).toBe(1)
  })
})
