import { expect, it } from 'vitest'
import { retryOnConflict } from '../../test/support/store.ts'
import { DamagedValueError } from '../store/statements.ts'
import { redeliverCallbacks } from './callbacks.ts'
import type { OperatorContext } from './context.ts'

it('says that no more are left where none of those that were given up can be read, so that a caller ends', async () => {
  const rows = Array.from({ length: 101 }, (_, n) => ({ id: `dead-${n}` }))
  const store = {
    listDue: () => Promise.resolve(rows),
    get: () => Promise.reject(new DamagedValueError('a value is damaged')),
  }
  const context = { store, retryOnConflict, now: () => new Date() } as unknown as OperatorContext
  expect(await redeliverCallbacks(context, {}, 'label')).toMatchObject({ redelivered: 0, has_more: false })
})
