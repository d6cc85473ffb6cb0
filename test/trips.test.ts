/** How many files a request runs through: docs/decisions/0013-files-of-a-request.md. */
import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, it } from 'vitest'

it('a credential request and a presentation run through no more files of their service than is bounded', async () => {
  const words = ['build/run.js', 'bench/show-trips.ts']
  const { stdout } = await promisify(execFile)(process.execPath, words, { cwd: join(import.meta.dirname, '..') })
  const bounds = stdout.split('\n').filter((line) => /: at most \d+ files of /.test(line))
  // The whole output names the files of each request.
  expect(bounds, stdout).toEqual([
    expect.stringMatching(/^credential.* reached$/),
    expect.stringMatching(/^pres.* reached$/),
  ])
})
