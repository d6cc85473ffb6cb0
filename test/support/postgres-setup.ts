/**
 * The PostgreSQL server of a run of the tests: started once, before the first test that needs it, and taken away at the
 * end.
 */
import { randomBytes } from 'node:crypto'
import type { TestProject } from 'vitest/node'
import { withConnection } from '../../src/store/postgres-connections.ts'
import { startPostgres } from './postgres-server.ts'
import { postgresOf } from './store.ts'

declare module 'vitest' {
  export interface ProvidedContext {
    /** Address of a database of its own. */
    readonly postgres: string
  }
}

export async function setup(project: TestProject): Promise<() => Promise<void>> {
  const own = process.env.VOUCHSAFE_TEST_POSTGRES
  if (own !== undefined) return useOwn(project, own)
  const server = await startPostgres()
  project.provide('postgres', server.url)
  return () => server.stop()
}

/** Makes a database of the run on the server that the environment names. */
async function useOwn(project: TestProject, url: string): Promise<() => Promise<void>> {
  const name = `vouchsafe_test_${randomBytes(8).toString('hex')}`
  const onServer = (text: string) => withConnection(postgresOf(url), (run) => run({ text, values: [] }))
  await onServer(`create database ${name} encoding 'UTF8' template template0`)
  const address = new URL(url)
  address.pathname = `/${name}`
  project.provide('postgres', address.href)
  return async () => {
    await onServer(`drop database ${name} with (force)`)
  }
}
