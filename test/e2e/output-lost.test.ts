/** The exit status of every command whose standard output is on a full disk. */
import { spawn } from 'node:child_process'
import { closeSync, existsSync, openSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { commandNames } from '../../src/bin/command-table/index.ts'
import { COMMAND, type EndedCommand, endOf, temporaryDirectory, vouchsafe } from '../support/command.ts'
import { serviceDirectory, start } from '../support/service-process.ts'
import { API_KEY } from '../support/services.ts'
import { configuration } from '../support/wire.ts'

/** A device on which every write fails as on a full disk; Linux and FreeBSD have it. */
const FULL = '/dev/full'
const LOST = 'The output cannot be written (ENOSPC); free its disk, or send it elsewhere.\n'

/** Words of each command that end with 0 in a directory with the files below. */
const rows: readonly string[] = [
  'help',
  'db --help',
  'issuer --help',
  'demo --help',
  '--version',
  'init verifier --dir new',
  'doctor issuer',
  'doctor --json',
  'console --issuer http://127.0.0.1:1 --port 0',
  'callbacks list --service issuer',
  'audit export --service issuer',
  'status-list export lists',
  'db status --service issuer',
  'db status --service issuer --json',
  'db migrate --service issuer',
  'db backup new.db --service issuer',
  'wallet list --home wallet',
  'wallet list --home wallet --json',
  'completion bash',
  'chain deploy Component --dir chain',
  'chain serve --dir chain --port 0',
  'component build good.js',
  'component test good.test.js',
  'secret key new.key',
]

/** Commands that log to stdout, and run on without it. */
const SERVICES: readonly string[] = ['issuer', 'verifier', 'engine']

/** Makes the directory of an issuer that has run and has an audit log. */
async function prepared(): Promise<string> {
  const cwd = await serviceDirectory('issuer', { port: 0 })
  const { child, ended, url } = await start('issuer', cwd)
  const headers = { authorization: `Bearer ${API_KEY}`, 'content-type': 'application/json' }
  const body = JSON.stringify(configuration)
  expect((await fetch(`${url}/credential-configuration/create`, { method: 'POST', headers, body })).status).toBe(201)
  child.kill('SIGTERM')
  await ended
  writeFileSync(
    join(cwd, 'good.js'),
    "import { component } from 'vouchsafe/component'\ncomponent({ http: () => ({ status: 200 }) })\n",
  )
  writeFileSync(join(cwd, 'good.test.js'), "import test from 'node:test'\ntest('a', () => {})\n")
  return cwd
}

function writingTo(path: string, words: string, cwd: string): Promise<EndedCommand> {
  const output = openSync(path, 'w')
  const env = { ...process.env, VOUCHSAFE_ISSUER_API_KEY: 'a' }
  const child = spawn(process.execPath, [COMMAND, ...words.split(' ')], { cwd, env, stdio: ['ignore', output, 'pipe'] })
  closeSync(output)
  return endOf(child)
}

describe.skipIf(!existsSync(FULL))('a command whose output is on a full disk', () => {
  it('fails, and says so', { timeout: 100_000 }, async () => {
    const cwd = await prepared()
    for (const words of rows) {
      const { status, stderr: text } = await writingTo(FULL, words, cwd)
      // The console says also of the service that it does not answer.
      const stderr = text.replace(/^The issuer at \S+ does not answer; .*\n/, '')
      // The tests of a component write for themselves.
      const expected = words.startsWith('component test') ? [1, ''] : [74, LOST]
      expect([words, status, stderr]).toEqual([words, ...expected])
    }
  })

  it('keeps the status of another failure', async () => {
    const cwd = temporaryDirectory()
    expect(await writingTo(FULL, 'secret put --json', cwd)).toMatchObject({ status: 2, stderr: LOST })
    expect(await writingTo(FULL, 'wallet show nothing --home wallet --json', cwd)).toMatchObject({ status: 1 })
  })

  it('is any; the demo ends as after a signal', async () => {
    expect((await writingTo(FULL, 'demo --once', temporaryDirectory())).status).toBe(130)
    const seen = new Set(rows.map((words) => words.split(' ')[0]))
    const others = commandNames.filter((name) => !SERVICES.includes(name) && name !== 'demo' && !seen.has(name))
    expect(others).toEqual([])
  })
})

it('the tests of a component, which write for themselves, end with 0 where their output is written', async () => {
  expect((await vouchsafe(['component', 'test', 'good.test.js'], { cwd: await prepared() })).status).toBe(0)
})
