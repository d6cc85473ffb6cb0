import { execFileSync } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { temporaryDirectory } from './support/command.ts'

const CONFIG = join(import.meta.dirname, '..', 'vitest.config.js')

it('what a run of the tests makes below the temporary directory goes with the run', () => {
  const outside = temporaryDirectory()
  const script = `
    import { mkdtempSync } from 'node:fs'
    import { tmpdir } from 'node:os'
    import { join } from 'node:path'
    await import(${JSON.stringify(CONFIG)})
    console.log(mkdtempSync(join(tmpdir(), 'left-behind-')))`
  const args = ['--input-type=module', '--eval', script]
  const made = execFileSync(process.execPath, args, { env: { ...process.env, TMPDIR: outside }, encoding: 'utf8' })
  expect(made).toMatch(/^.+\/vouchsafe-tests-\w+\/left-behind-\w+\n$/)
  expect(readdirSync(outside)).toEqual([])
})

it('a test has the temporary directory of its run', () => {
  expect(tmpdir()).toMatch(/vouchsafe-tests-\w+$/)
})
