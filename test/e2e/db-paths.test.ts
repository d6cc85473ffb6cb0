/** Databases with the longest names and paths: the files that each command makes beside them still have names. */
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { basename, dirname, join, resolve } from 'node:path'
import { describe, expect, it } from 'vitest'
import { startCommand } from '../support/command.ts'
import { endService, serviceDirectory, startForTest } from '../support/service-process.ts'

const [MAX_NAME, MAX_PATH] = [220, 477]

/** Returns the longest path of a file in the directory, which has the longest name, and `more` bytes. */
function pathOf(directory: string, more: number): string {
  const folder = 'f'.repeat(MAX_PATH - MAX_NAME - directory.length - 2 + more)
  return join(directory, folder, 'n'.repeat(MAX_NAME))
}

/** Makes the directory of an issuer, whose database is named after it. */
async function issuerDirectory(name: (directory: string) => string): Promise<{ cwd: string; file: string }> {
  const cwd = await serviceDirectory('issuer')
  const config = join(cwd, 'conf/server.json')
  const file = name(cwd)
  const settings = JSON.parse(readFileSync(config, 'utf8')) as object
  writeFileSync(config, JSON.stringify({ ...settings, database: { url: `sqlite:${file}` } }))
  mkdirSync(join(cwd, 'data'))
  return { cwd, file }
}

describe('a database with the longest', () => {
  it('name and path is served, backed up and restored', { timeout: 120_000 }, async () => {
    const { cwd, file } = await issuerDirectory((directory) => pathOf(directory, 0))
    expect([file.length, basename(file).length]).toEqual([MAX_PATH, MAX_NAME])
    const running = await startForTest('issuer', cwd)
    expect((await endService(running, 'SIGTERM')).status).toBe(0)
    const words = [['backup', 'backup.db'], ['restore', 'backup.db'], ['restore', 'backup.db'], ['compact'], ['status']]
    for (const each of words)
      expect([each, await startCommand(['db', ...each], { cwd }).ended]).toEqual([
        each,
        expect.objectContaining({ status: 0, stderr: '' }),
      ])
    const names = readdirSync(dirname(resolve(cwd, file)))
    expect(names.filter((each) => /\.before-\d{17}$/.test(each))).toHaveLength(2)
    expect(names.filter((each) => each.includes('.restoring'))).toEqual([])
    await startForTest('issuer', cwd)
  })

  it.each([
    ['name, and a byte more', () => `data/${'n'.repeat(MAX_NAME + 1)}`],
    ['path, and a byte more', (directory: string) => pathOf(directory, 1)],
  ])('%s is a mistake of its configuration', async (_, name) => {
    const { cwd, file } = await issuerDirectory(name)
    for (const words of [['issuer'], ['db', 'migrate'], ['db', 'restore', 'backup.db']]) {
      const { status, stdout, stderr } = await startCommand(words, { cwd }).ended
      expect([words, status, stdout + stderr]).toEqual([
        words,
        2,
        expect.stringContaining(`${file} is too long for the files beside the database: the name may have at most 220`),
      ])
    }
    expect(readdirSync(join(cwd, 'data'))).toEqual([])
  })
})
