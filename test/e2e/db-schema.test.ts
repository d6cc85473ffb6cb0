/** The schema of a database, which the command makes and checks without a service. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { type EndedCommand, startCommand } from '../support/command.ts'
import { serviceDirectory, startForTest } from '../support/service-process.ts'
import { databaseSettings } from '../support/store.ts'

describe('the schema by the command', () => {
  it('is made and brought up to date without a service, and checked without a change', async () => {
    const directory = await serviceDirectory('issuer', databaseSettings())
    const db = (...words: readonly string[]) => startCommand(['db', ...words], { cwd: directory }).ended
    const { status, stdout } = await db('migrate', '--check', '--json')
    expect([status, (JSON.parse(stdout) as { missing: string[] }).missing]).toEqual([
      1,
      expect.arrayContaining(['issuer-0001']),
    ])
    expect((await done(db('migrate', '--json'))).added).toContain('issuer-0001')
    expect(await done(db('migrate', '--json'))).toMatchObject({ added: [] })
    expect(await done(db('migrate', '--check', '--json'))).toMatchObject({ missing: [] })
    const service = await startForTest('issuer', directory)
    expect((await fetch(`${service.url}/health/ready`)).status).toBe(200)
    const text = (await db('status')).stdout
    expect(text).toMatch(/schema +issuer-\d+, the newest/)
    expect(readFileSync(join(directory, 'conf', 'server.json'), 'utf8')).toContain('baseUrl')
  })
})

/** Returns what a command that succeeds prints. */
async function done(ended: Promise<EndedCommand>): Promise<Record<string, unknown>> {
  const { status, stdout, stderr } = await ended
  expect([status, stderr, status === 0 || stdout]).toEqual([0, '', true])
  return JSON.parse(stdout) as Record<string, unknown>
}
