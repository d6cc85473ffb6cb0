/**
 * The cost of a call of a component, apart from HTTP, chain and database: processor time of the whole process, and
 * calls per second with two workers and some calls at a time. The component reads 1 KiB of storage, which is one
 * question to the engine, and answers with the value.
 *
 * npm run bench -- engine-runtime, or: node build/run.js bench/engine-runtime.ts
 */
import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import {
  type ComponentCall,
  type ComponentCode,
  DEFAULT_LIMITS,
  type Host,
  type Runtime,
} from '../src/component/runtime.ts'
import { readComponent } from '../src/toolchain/bundle.ts'
import { startRuntime } from '../src/toolchain/places.ts'
import { binaryOf, readsStorage } from '../test/support/wat.ts'

const directory = mkdtempSync(join(process.cwd(), 'node_modules', '.bench-'))
process.on('exit', () => rmSync(directory, { recursive: true, force: true }))

const VALUE = Buffer.alloc(1024, 7)
const host: Host = {
  load: () => Promise.resolve(VALUE),
  readContract: () => Promise.reject(new Error('none')),
  send: () => Promise.reject(new Error('none')),
  getConfiguration: () => undefined,
  getGeneration: () => Promise.resolve('first'),
  listTimers: () => Promise.resolve([]),
  isSpent: () => Promise.resolve(false),
}
const SCRIPT = `import { component } from 'vouchsafe/component'
component({ http: (request, context) => ({ status: 200, body: context.storage('b').get('k') }) })`

function callOf(component: ComponentCode): ComponentCall {
  const headers = [
    { name: 'host', values: ['localhost'] },
    { name: 'accept', values: ['*/*'] },
  ]
  return {
    component,
    hook: { kind: 'http', request: { method: 'GET', uri: '/kib', headers, body: new Uint8Array(0) } },
    contract: `00${'11'.repeat(20)}`,
    engine: `00${'22'.repeat(20)}`,
    chain: { id: '31337', addresses: 'evm' },
    block: { number: 1, time: new Date(0) },
    state: new Uint8Array(0),
    now: new Date(0),
    deadlineMs: 5_000,
  }
}

async function calls(runtime: Runtime, call: ComponentCall, count: number, atOnce: number): Promise<void> {
  let remaining = count
  const one = async (): Promise<void> => {
    while (remaining > 0) {
      remaining -= 1
      const outcome = await runtime.run(call, host)
      if (outcome.kind !== 'done' || outcome.response?.body.length !== 1024) throw new Error(JSON.stringify(outcome))
    }
  }
  await Promise.all(Array.from({ length: atOnce }, one))
}

async function measure(name: string, runtime: Runtime, component: ComponentCode): Promise<void> {
  const call = callOf(component)
  await calls(runtime, call, 3_000, 8)
  for (const atOnce of [1, 8, 8]) {
    const count = 8_000
    const [before, start] = [process.cpuUsage(), performance.now()]
    await calls(runtime, call, count, atOnce)
    const { user, system } = process.cpuUsage(before)
    const seconds = (performance.now() - start) / 1000
    const cost = ((user + system) / count).toFixed(0)
    process.stdout.write(
      `${name}  ${atOnce} at once: ${(count / seconds).toFixed(0)}/s, ${cost} us of processor time each\n`,
    )
  }
  process.stdout.write(`${name}  resident memory ${(process.memoryUsage().rss / 2 ** 20).toFixed(0)} MiB\n`)
}

execFileSync(process.execPath, ['build/bundle.js'], { stdio: 'inherit' })
const runtime = await startRuntime(2, DEFAULT_LIMITS, join(process.cwd(), 'dist'))
const module = await binaryOf(readsStorage)
await measure('WebAssembly', runtime, { sha256: 'module', bytes: module })
writeFileSync(join(directory, 'script.ts'), SCRIPT)
await measure('JavaScript ', runtime, await readComponent(join(directory, 'script.ts'), join(process.cwd(), 'dist')))
await runtime.close()
