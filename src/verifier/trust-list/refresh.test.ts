import pino from 'pino'
import { beforeAll, expect, it } from 'vitest'
import { makeNetwork } from '../../../test/support/foreign-status.ts'
import { openTestStore, retryOnConflict } from '../../../test/support/store.ts'
import { type ListSigner, makeListSigner, makeTrustList, PID_LIST } from '../../../test/support/trust-list.ts'
import { type HttpClientResponse, OutboundError } from '../../http/outbound.ts'
import { parseCertificate } from '../../keys/certificate.ts'
import { verifierMigrations } from '../collections.ts'
import { createTrustListTask } from './refresh.ts'
import { readListEnds, type TrustListCollections } from './stored.ts'

const NOW = new Date()
const network = makeNetwork()
let signer: ListSigner
let text: string
beforeAll(async () => {
  signer = await makeListSigner()
  text = await makeTrustList(signer, [], NOW)
})

const answer = (): HttpClientResponse => ({ status: 200, headers: {}, body: Buffer.from(text) })

/** Runs a round with so many lists. Returns it, and a function that reads which of them have an end. */
async function startRound(
  count: number,
  answerTo: (index: number) => Promise<HttpClientResponse>,
  openStore = () => openTestStore<TrustListCollections>(verifierMigrations),
) {
  const signerAnchors = [{ ...parseCertificate(signer.der), file: 'operator.pem' }]
  const trustLists = Array.from({ length: count }, (_, index) => {
    const url = `https://${index}.example/list.jwt`
    network.at.set(url, () => answerTo(index))
    return { url, loteType: PID_LIST, signerAnchors, credentialTypes: undefined }
  })
  const store = await openStore()
  const config = { trustLists, clockSkewSeconds: 60, status: { allowPrivateAddresses: true } as never }
  const { outbound } = network
  const log = pino({ level: 'silent' })
  const task = createTrustListTask(() => config, { store, retryOnConflict, outbound, now: () => NOW, log })
  const findStored = async () => {
    const ends = await readListEnds(trustLists, store)
    return trustLists.flatMap(({ url }, index) => (ends.get(url) === undefined ? [] : index))
  }
  return { round: task.run(), findStored }
}

it('a list of a database without states gets its state also where it cannot be fetched', async () => {
  const away = () => Promise.reject(new OutboundError('0.example takes no connections'))
  const { round, findStored } = await startRound(1, away, async () => {
    const store = await openTestStore<TrustListCollections>(verifierMigrations)
    const list = { text, fetchedAt: NOW.getTime(), endsAt: NOW.getTime() + 3_600_000 }
    await store.commit([{ insert: 'trust_list', id: 'https://0.example/list.jwt', value: { list } }])
    return store
  })
  await round
  expect(await findStored()).toEqual([0])
})

it('a failure beside the fetch of another process keeps what that one stored', async () => {
  const away = () => Promise.reject(new OutboundError('0.example takes no connections'))
  const id = 'https://0.example/list.jwt'
  const [list, state] = [{ text, fetchedAt: NOW.getTime(), endsAt: NOW.getTime() }, { endsAt: NOW.getTime() }]
  const store = await openTestStore<TrustListCollections>(verifierMigrations)
  await store.commit([
    { insert: 'trust_list', id, value: { list } },
    { insert: 'trust_list_state', id, value: { list: { ...state, version: 0 } } },
  ])
  let isOtherDone = false
  const { round } = await startRound(1, away, () =>
    Promise.resolve<typeof store>({
      ...store,
      get: async (collection, rowId) => {
        if (collection === 'trust_list_state' && !isOtherDone) {
          isOtherDone = true
          await store.commit([
            { update: 'trust_list', id, version: 0, value: { list } },
            { update: 'trust_list_state', id, version: 0, value: { list: { ...state, version: 1 } } },
          ])
        }
        return store.get(collection, rowId)
      },
    }),
  )
  await round
  const problem = '0.example takes no connections'
  expect((await store.get('trust_list_state', id))?.value).toEqual({ list: { ...state, version: 1 }, problem })
})

it('a host that does not answer delays no other list', async () => {
  let answerAtLast = (): void => undefined
  const end = new Promise<void>((resolve) => {
    answerAtLast = resolve
  })
  const { round, findStored } = await startRound(3, (index) =>
    index === 0 ? end.then(answer) : Promise.resolve(answer()),
  )
  await expect.poll(findStored, { timeout: 5000 }).toEqual([1, 2])
  answerAtLast()
  await round
  expect(await findStored()).toEqual([0, 1, 2])
})

it('eight lists at most are fetched at the same time', async () => {
  let [running, most] = [0, 0]
  const { round, findStored } = await startRound(20, async () => {
    running += 1
    most = Math.max(most, running)
    await new Promise((resolve) => setTimeout(resolve, 20))
    running -= 1
    return answer()
  })
  await round
  expect(most).toBe(8)
  expect(await findStored()).toHaveLength(20)
})

it('a fetch that throws makes the round fail when all others are done', async () => {
  const { round, findStored } = await startRound(3, async (index) => {
    if (index === 0) throw new Error('a mistake of ours')
    await new Promise((resolve) => setTimeout(resolve, 20))
    return answer()
  })
  await expect(round).rejects.toThrow('a mistake of ours')
  expect(await findStored()).toEqual([1, 2])
})
