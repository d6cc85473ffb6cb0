/** An engine that is killed as soon as it has said that a share is stored: the contract hears of it all the same. */
import { randomBytes } from 'node:crypto'
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { sharingStatus } from '../../sdk/client/secret-sharing.ts'
import { prepareUpload, upload } from '../../sdk/client/upload.ts'
import { deployComponent, ownerOf, place } from '../support/engine-contracts.ts'
import { eventually, makeDirectory, makeEngine, waitUntilServed } from '../support/engine-process.ts'

const DIST = join(import.meta.dirname, '..', '..', 'dist', 'components')

it('keeps what it has said of a share', async () => {
  const dir = makeDirectory('chain')
  const at = await place({ dir })
  const settings = { chain: { type: 'local', directory: dir }, pollMilliseconds: 50 }
  const [engine, other] = [await makeEngine(settings), await makeEngine(settings)]
  const engines = [engine, other]
  try {
    await Promise.all(engines.map((each) => each.start()))
    const contract = await deployComponent(at, 'SecretSharing', join(DIST, 'secret-sharing.js'), engines)
    await waitUntilServed(engines, contract)
    let restarted: Promise<void> | undefined
    const owner = ownerOf(at, contract, async (url, init) => {
      const response = await fetch(url, init)
      const { port } = new URL(response.url)
      // Nothing but an upload is answered so.
      if (restarted !== undefined || port !== new URL(engine.url).port || response.status !== 201) return response
      const body = await response.arrayBuffer()
      await engine.kill()
      restarted = engine.start()
      return new Response(body, response)
    })
    const secret = randomBytes(100)
    await upload(owner, await prepareUpload(owner, { secret, threshold: 2, id: 1n }))
    await expect(restarted).resolves.toBe(undefined)
    const heard = async () => (await sharingStatus(owner.client, 1n))?.uploaded.every((each) => each)
    expect(await eventually(heard, 300_000)).toBe(true)
  } finally {
    await Promise.all(engines.map((each) => each.remove()))
    rmSync(join(dir, '..'), { recursive: true })
  }
}, 600_000)
