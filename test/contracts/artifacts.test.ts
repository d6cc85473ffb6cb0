/** components/artifacts/ is what the compiler makes of components/. */
import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, it } from 'vitest'

it('the compiled contracts are current: node build/contracts.js', async () => {
  const script = join(import.meta.dirname, '..', '..', 'build', 'contracts.js')
  await expect(promisify(execFile)(process.execPath, [script, '--check'])).resolves.toMatchObject({ stderr: '' })
})
