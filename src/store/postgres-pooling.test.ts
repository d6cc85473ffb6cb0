import { expect, it } from 'vitest'
import { freshUrl, postgresOf } from '../../test/support/store.ts'
import { type StatementRunner, withConnection } from './postgres-connections.ts'
import { findPoolingProblem } from './postgres-pooling.ts'

const server = postgresOf(freshUrl())

it('finds no problem where there is no second connection to tell by', async () => {
  // On the port of discard there is no server.
  const away = { ...server, host: '127.0.0.1', port: 9 }
  expect(await withConnection(server, (run) => findPoolingProblem(run, away))).toBeUndefined()
})

it('rejects with what else is wrong with a second connection', async () => {
  const other = { ...server, password: 'wrong' }
  const user = { ...server, user: 'nobody-of-this-name' }
  for (const each of [other, user]) {
    await expect(withConnection(server, (run) => findPoolingProblem(run, each))).rejects.toThrow(/^PostgreSQL: /)
  }
})

it('rejects when the first connection fails meanwhile', async () => {
  const asked = await withConnection(server, async (run) => {
    let count = 0
    const failing: StatementRunner = (statement) =>
      statement.text.includes('pg_backend_pid') && ++count > 1
        ? Promise.reject(new Error('it is lost'))
        : run(statement)
    return findPoolingProblem(failing, server).catch((error: unknown) => error)
  })
  expect(asked).toMatchObject({ message: 'it is lost' })
})
