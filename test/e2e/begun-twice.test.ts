/** An owner who begins an upload or a deletion twice at once, as in two windows: both come to the same end. */
import { randomBytes } from 'node:crypto'
import { setTimeout as wait } from 'node:timers/promises'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { engineClient } from '../../sdk/client/engine-client.ts'
import { ClientError } from '../../sdk/client/errors.ts'
import { deleteSecret, type SecretSharing, sharingStatus } from '../../sdk/client/secret-sharing.ts'
import { keySigner } from '../../sdk/client/signers.ts'
import { accountTransactor } from '../../sdk/client/transactor.ts'
import { prepareUpload, upload } from '../../sdk/client/upload.ts'
import { type SharingEngines, startSharingEngines } from '../support/sharing-engines.ts'

let world: SharingEngines
beforeAll(async () => {
  world = await startSharingEngines(3)
})
afterAll(() => world.stop())

const now = (): Date => new Date()
const KEPT = { gone: false }

function owner(): SecretSharing {
  const key = randomBytes(32)
  const { chain, contract } = world
  const random = (length: number): Uint8Array => new Uint8Array(randomBytes(length))
  const client = engineClient({ chain, contract, fetch, now, random, wait })
  const signer = keySigner(key, 'evm')
  return { client, signer, transactor: accountTransactor(chain, key, { now, wait }), patienceMs: 2000 }
}

it('an upload and a deletion that are begun twice at once end well', async () => {
  const sharing = owner()
  const prepared = await prepareUpload(sharing, { secret: randomBytes(10), threshold: 2 })
  const uploads = await Promise.all([upload(sharing, prepared), upload(sharing, prepared)])
  expect(uploads.map(({ complete }) => complete)).toEqual([true, true])
  const id = BigInt(prepared.id)
  // The engines of this test forget no share.
  expect(await Promise.all([deleteSecret(sharing, id), deleteSecret(sharing, id)])).toEqual(Array(2).fill(KEPT))
  expect((await sharingStatus(sharing.client, id))?.deleting).toBe(true)
})

it('what was sent before and waits for a block is awaited, and an id of somebody else is in use', async () => {
  const [sharing, stranger] = [owner(), owner()]
  const refused = new ClientError('refused-by-chain', 'the contract refuses: the id is in use')
  const sentBefore = (context: SecretSharing): SecretSharing => ({
    ...context,
    transactor: {
      address: context.transactor.address,
      send: (to, payload) => {
        void wait(500).then(() => sharing.transactor.send(to, payload))
        return Promise.reject(refused)
      },
    },
  })
  const prepared = await prepareUpload(sharing, { secret: randomBytes(10), threshold: 2 })
  expect((await upload(sentBefore(sharing), prepared)).complete).toBe(true)
  expect(await deleteSecret(sentBefore(sharing), BigInt(prepared.id))).toEqual(KEPT)
  // Here the transaction that comes first is the owner's, and not the stranger's.
  const others = await prepareUpload(stranger, { secret: randomBytes(10), threshold: 2 })
  await expect(upload(sentBefore(stranger), others)).rejects.toMatchObject({ code: 'id-in-use' })
})

it('a transaction that the contract refuses for another reason is refused when the patience is over', async () => {
  const sharing = { ...owner(), patienceMs: 500 }
  const refused = new ClientError('refused-by-chain', 'the contract refuses: it is paused')
  const transactor = { ...sharing.transactor, send: () => Promise.reject(refused) }
  const prepared = await prepareUpload(sharing, { secret: randomBytes(10), threshold: 2 })
  await expect(upload({ ...sharing, transactor }, prepared)).rejects.toBe(refused)
  expect(await sharingStatus(sharing.client, BigInt(prepared.id))).toBe(undefined)
})
