/** The statements of docs/operating.md make a database in which an issuer starts. */
import { randomBytes } from 'node:crypto'
import { expect, it } from 'vitest'
import { withConnection } from '../../src/store/postgres-connections.ts'
import { snippetWith } from '../support/documents.ts'
import { freshUrl, postgresOf } from '../support/store.ts'

it('a role and its database are made by the statements of the page', async () => {
  const url = freshUrl()
  const name = `issuer_${randomBytes(6).toString('hex')}`
  const [role = '', database = ''] = snippetWith('docs/operating.md', 'create role')
    .replaceAll('issuer', name)
    .replace('…', 'a password')
    .split(';')
  const onServer = <T>(text: string): Promise<T> =>
    withConnection(postgresOf(url), (run) => run({ text, values: [] }) as Promise<T>)
  await onServer(role)
  await onServer(database)
  const { rows } = await onServer<{ rows: object[] }>(
    `select pg_get_userbyid(datdba) as owner, pg_encoding_to_char(encoding) as encoding from pg_database where datname = '${name}'`,
  )
  expect(rows).toEqual([{ owner: name, encoding: 'UTF8' }])
  await onServer(`drop database ${name}`)
  await onServer(`drop role ${name}`)
})
