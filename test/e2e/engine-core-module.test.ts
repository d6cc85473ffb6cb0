/** A component in core WebAssembly that no compiler of ours has made, at a real engine. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { coreModule } from '../support/core-module.ts'
import { deployComponent, place } from '../support/engine-contracts.ts'
import { makeDirectory, makeEngine, waitUntilServed } from '../support/engine-process.ts'

it('is run by an engine, and what it stores survives a restart', { timeout: 600_000 }, async () => {
  const directory = makeDirectory('chain')
  const file = join(directory, 'counter.wasm')
  writeFileSync(file, coreModule)
  const engine = await makeEngine({ chain: { type: 'local', directory } })
  onTestFinished(() => engine.remove())
  await engine.start()
  const contract = await deployComponent(await place({ dir: directory }), 'Component', file, [engine])
  const count = async (method: string): Promise<number | undefined> => {
    await waitUntilServed([engine], contract)
    const response = await fetch(`${engine.url}/offchain/${contract}/`, { method })
    expect(response.status).toBe(200)
    return new Uint8Array(await response.arrayBuffer())[0]
  }
  expect(await count('GET')).toBe(0)
  for (let requests = 1; requests <= 3; requests++) expect(await count('POST')).toBe(requests)
  await engine.kill()
  await engine.start()
  expect([await count('GET'), await count('POST')]).toEqual([3, 4])
})
