import { beforeEach, describe, expect, it } from 'vitest'
import { openTestStore } from '../../../test/support/store.ts'
import { LIST_URL, type ListSigner, makeListSigner, makeTrustList, PID_LIST } from '../../../test/support/trust-list.ts'
import type { TrustListConfig } from '../../config/trust-lists.ts'
import { parseCertificate } from '../../keys/certificate.ts'
import { verifierMigrations } from '../collections.ts'
import { createTrustListLoader } from './current.ts'
import { readListEnds, type TrustListCollections } from './stored.ts'

const FETCHED_AT = new Date()
const ENDS_AT = FETCHED_AT.getTime() + 86_400_000

let signer: ListSigner
let setting: TrustListConfig
let row: { readonly list: { readonly text: string; readonly fetchedAt: number; readonly endsAt: number } }
beforeEach(async () => {
  signer = await makeListSigner()
  const signerAnchors = [{ ...parseCertificate(signer.der), file: 'operator.pem' }]
  setting = { url: LIST_URL, loteType: PID_LIST, signerAnchors, credentialTypes: undefined }
  const text = await makeTrustList(signer, [signer.der], FETCHED_AT)
  row = { list: { text, fetchedAt: FETCHED_AT.getTime(), endsAt: ENDS_AT } }
})

/** Creates a loader of an empty database; `reads` has the collections that were read since. */
async function startLoader() {
  const store = await openTestStore<TrustListCollections>(verifierMigrations)
  const reads: string[] = []
  const countingStore: typeof store = {
    ...store,
    get: (collection, id) => {
      reads.push(collection)
      return store.get(collection, id)
    },
  }
  const state = { now: FETCHED_AT, config: { trustLists: [setting], clockSkewSeconds: 60 } }
  const load = createTrustListLoader(() => state.config, { store: countingStore, now: () => state.now })
  return { store: countingStore, reads, state, countAnchors: async () => (await load()).map((it) => it.anchors.length) }
}

async function startWithList() {
  const loader = await startLoader()
  await loader.store.commit([
    { insert: 'trust_list', id: LIST_URL, value: row },
    { insert: 'trust_list_state', id: LIST_URL, value: { list: { version: 0, endsAt: ENDS_AT } } },
  ])
  return loader
}

describe('a list', () => {
  it('has its text read once, however often it counts and its end is asked for', async () => {
    const { reads, state, store, countAnchors } = await startWithList()
    expect(await countAnchors()).toEqual([1])
    expect(reads).toEqual(['trust_list_state', 'trust_list'])
    state.now = new Date(state.now.getTime() + 5000)
    expect(await countAnchors()).toEqual([1])
    expect(await readListEnds([setting], store)).toEqual(new Map([[LIST_URL, ENDS_AT]]))
    expect(reads.slice(2)).toEqual(['trust_list_state', 'trust_list_state'])
  })

  it('is read again when another has taken its place', async () => {
    const { state, store, countAnchors } = await startWithList()
    expect(await countAnchors()).toEqual([1])
    const text = await makeTrustList(signer, [], FETCHED_AT)
    const value = { list: { ...row.list, text } }
    await store.commit([
      { update: 'trust_list', id: LIST_URL, version: 0, value },
      { update: 'trust_list_state', id: LIST_URL, version: 0, value: { list: { version: 1, endsAt: ENDS_AT } } },
    ])
    state.now = new Date(state.now.getTime() + 5000)
    expect(await countAnchors()).toEqual([0])
  })

  it('counts no longer from the moment in which its signer is taken out of the settings, or the list itself', async () => {
    const { state, countAnchors } = await startWithList()
    expect(await countAnchors()).toEqual([1])
    const other = parseCertificate((await makeListSigner('Other')).der)
    state.config = { ...state.config, trustLists: [{ ...setting, signerAnchors: [{ ...other, file: 'other.pem' }] }] }
    expect(await countAnchors()).toEqual([0])
    state.config = { ...state.config, trustLists: [] }
    expect(await countAnchors()).toEqual([])
  })

  it('counts without a certificate that cannot be read, for the others', async () => {
    const { store, countAnchors } = await startLoader()
    const text = await makeTrustList(signer, [Buffer.from('no certificate'), signer.der], FETCHED_AT)
    await store.commit([{ insert: 'trust_list', id: LIST_URL, value: { list: { ...row.list, text } } }])
    expect(await countAnchors()).toEqual([1])
  })

  it('counts after its end for as long as clocks may differ', async () => {
    const { state, countAnchors } = await startWithList()
    state.now = new Date(ENDS_AT + 59_000)
    expect(await countAnchors()).toEqual([1])
    state.now = new Date(ENDS_AT + 61_000)
    expect(await countAnchors()).toEqual([0])
  })

  it('of a database without states counts before it is fetched anew', async () => {
    const { store, countAnchors } = await startLoader()
    await store.commit([{ insert: 'trust_list', id: LIST_URL, value: row }])
    expect(await countAnchors()).toEqual([1])
  })
})
