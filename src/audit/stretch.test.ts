import { expect, it } from 'vitest'
import { DamagedValueError } from '../store/statements.ts'
import { blockId } from './collections.ts'
import { findLastCheckpoint } from './stretch.ts'

it('passes over a checkpoint that was damaged in the database, and no other error', async () => {
  const storeWith = (error: Error) =>
    ({
      get: (_: string, id: string) => {
        if (id === blockId(4)) return Promise.resolve({ version: 0, value: {} })
        if (id === blockId(2)) return Promise.reject(error)
        return Promise.resolve(id === blockId(1) ? { version: 0, value: { checkpoint: 'signed' } } : undefined)
      },
    }) as unknown as Parameters<typeof findLastCheckpoint>[0]
  const head = { log: 'log', block: 5, sequence: 9, hash: 'x' }
  const last = await findLastCheckpoint(storeWith(new DamagedValueError('damaged')), head)
  expect(last).toEqual({ block: 1, checkpoint: 'signed' })
  await expect(findLastCheckpoint(storeWith(new Error('gone')), head)).rejects.toThrow('gone')
})
