/** A PostgreSQL server that is spoken to by TLS. */
import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { readDatabase } from '../../src/config/database.ts'
import { openPostgres } from '../../src/store/postgres.ts'
import { withConnection } from '../../src/store/postgres-connections.ts'
import { readPostgresState } from '../../src/store/postgres-schema.ts'
import { type PostgresServer, startPostgres } from '../support/postgres-server.ts'

let server: PostgresServer
beforeAll(async () => {
  server = await startPostgres()
})
afterAll(() => server.stop())

describe('a server of PostgreSQL by TLS', () => {
  const file = join(mkdtempSync(join(tmpdir(), 'vouchsafe-ca-')), 'ca.pem')
  beforeAll(() => writeFileSync(file, server.certificate))

  async function isEncrypted(host: string, parameters: string): Promise<boolean> {
    const url = `${server.url.replace('127.0.0.1', host)}?${parameters}`
    const read = readDatabase({ url }, '', {
      read: () => server.certificate,
      list: () => [],
      resolveLink: (path) => path,
    })
    if ('mistakes' in read || read.database.kind !== 'postgresql') throw new Error(JSON.stringify(read))
    await (await openPostgres(read.database, [])).close()
    return (await withConnection(read.database, readPostgresState)).isEncrypted
  }

  it.each([
    ['127.0.0.1', 'sslmode=disable', false],
    ['127.0.0.1', 'sslmode=require', true],
    ['127.0.0.1', 'sslmode=verify-ca&sslrootcert=ca', true],
    ['127.0.0.1', 'sslmode=verify-full&sslrootcert=ca', true],
    ['localhost', 'sslmode=verify-ca&sslrootcert=ca', true],
  ])('is used at %s with %s', async (host, parameters, encrypted) => {
    expect(await isEncrypted(host, parameters)).toBe(encrypted)
  })

  it.each([
    ['127.0.0.1', 'sslmode=verify-full', /self-signed certificate.*; name the certificate of its CA as sslrootcert/],
    ['127.0.0.1', 'sslmode=verify-ca', /self-signed certificate/],
    ['localhost', 'sslmode=verify-full&sslrootcert=ca', /does not match certificate's altnames/],
  ])('is not used at %s with %s', async (host, parameters, reason) => {
    await expect(isEncrypted(host, parameters)).rejects.toThrow(reason)
  })
})
