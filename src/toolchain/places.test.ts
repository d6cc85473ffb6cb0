import { copyFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { temporaryDirectory } from '../../test/support/command.ts'
import { WORKER_DIRECTORY } from '../../test/support/component-directory.ts'
import { call, LIMITS, noHost, script } from '../../test/support/components.ts'
import { startRuntime } from './places.ts'

it('starts each worker by the program of its own installation, also when another was installed in its place', async () => {
  const directory = temporaryDirectory()
  for (const name of ['component-worker.cjs', 'quickjs.wasm'])
    copyFileSync(join(WORKER_DIRECTORY, name), join(directory, name))
  const runtime = await startRuntime(1, LIMITS, directory)
  writeFileSync(join(directory, 'component-worker.cjs'), `throw new Error('this is of another build')`)
  const spins = script('off_chain_on_state_change() { for (;;); }')
  const quick = script('off_chain_on_state_change() { return new Uint8Array(0) }')
  const hook = { kind: 'state-change' } as const
  // A deadline ends the worker, and another one takes its place.
  expect(await runtime.run(call(spins, { hook, deadlineMs: 500 }), noHost)).toEqual({ kind: 'deadline' })
  expect(await runtime.run(call(quick, { hook }), noHost)).toMatchObject({ kind: 'done' })
  await runtime.close()
})
