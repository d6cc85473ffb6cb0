import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { temporaryDirectory } from '../../../test/support/command.ts'
import { fakeTimersOf } from '../../../test/support/fake-timers.ts'
import { makeEngine, STARTS_WITHIN_MS } from './engines.ts'

it('an engine that ends before it listens is told, and keeps nobody waiting', async () => {
  const home = temporaryDirectory()
  const command = join(home, 'ends.cjs')
  writeFileSync(command, 'console.log("its key is missing"); process.exit(2)')
  const [, commandBefore = ''] = process.argv
  process.argv[1] = command
  const countTimers = fakeTimersOf(STARTS_WITHIN_MS)
  onTestFinished(() => {
    process.argv[1] = commandBefore
  })
  const engine = await makeEngine('A', home, join(home, 'chain'), 0)
  await expect(engine.start()).rejects.toThrow(/engine A ended before it listened/)
  expect(countTimers()).toBe(0)
})
