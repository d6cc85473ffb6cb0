/** The requests that an engine is measured with: calls of components that read, and signed uploads of shares. */
import { type Address, evmAddress } from '../src/offchain/address.ts'
import { signSecp256k1 } from '../src/offchain/authentication/secp256k1.ts'
import type { Request } from './connection.ts'
import { type EnginePlace, PATHS, type Upload } from './engine-place.ts'

export interface Kind {
  readonly name: string
  /** The number of calls a second that is wanted. */
  readonly target: number
  /** An upload counts once only, and so its secret is registered before. */
  readonly isUpload: boolean
  readonly traffic: (place: EnginePlace) => Traffic
}

export interface Traffic {
  readonly status: number
  /** Makes so many requests that were not there before. */
  readonly requests: (count: number, of: 'engine' | 'floor') => readonly Request[]
  /** Resolves when the engine has done what these requests left to be done. */
  readonly waitUntilSettled?: () => Promise<void>
  readonly first?: Request
}

export type Measuring = Kind & Traffic

/** The uploads for each call, because one upload costs as much as ten calls. */
const UPLOADS = 0.1
/** The uploads until V8 compiles hardly anything any more, which takes up to 30 ms of a core at a time. */
const WARM_UP_UPLOADS = 3000

export const KINDS: readonly Kind[] = [
  ...(['WebAssembly', 'TypeScript'] as const).map((name) => ({
    ...{ name, target: name === 'WebAssembly' ? 4000 : 1500, isUpload: false },
    traffic: (place: EnginePlace) => reading(place, name),
  })),
  { name: 'uploads', target: 300, isUpload: true, traffic: uploading },
]

/** Returns the number of calls before the first round, and in a round. */
export function amountOf({ isUpload }: Kind, { calls, warmUp }: { readonly calls: number; readonly warmUp: number }) {
  return isUpload ? { warmUp: WARM_UP_UPLOADS, round: Math.ceil(UPLOADS * calls) } : { warmUp, round: calls }
}

const CONFIRMED_WITHIN_MS = 120_000

function pathOf(contract: Address, uri: string): string {
  return `/offchain/${evmAddress(contract)}${uri}`
}

function reading({ readers }: EnginePlace, name: keyof EnginePlace['readers']): Traffic {
  const path = pathOf(readers[name], PATHS.value)
  const request: Request = { method: 'GET', path, headers: { accept: '*/*' } }
  return { status: 200, requests: (count) => Array<Request>(count).fill(request), first: { method: 'PUT', path } }
}

function uploading(place: EnginePlace): Traffic {
  const remainingUploads = place.uploads[Symbol.iterator]()
  const sentUploads: Upload[] = []
  const take = (at: number, of: 'engine' | 'floor'): Upload => {
    // The floor keeps each as a new row, and so can be sent the same again.
    if (of === 'floor') return place.uploads[at % place.uploads.length] as Upload
    sentUploads.push(remainingUploads.next().value as Upload)
    return sentUploads.at(-1) as Upload
  }
  return {
    status: 201,
    requests: (count, of) => Array.from({ length: count }, (_, at) => uploadRequest(place, take(at, of))),
    waitUntilSettled: () => waitForConfirmations(place, sentUploads),
  }
}

function uploadRequest({ owner, engine }: EnginePlace, { contract, id, share }: Upload): Request {
  const uri = `${PATHS.share}${id}`
  const signedRequest = { method: 'PUT' as const, uri, body: Buffer.from(share) }
  const authorization = signSecp256k1(signedRequest, { engine, contract }, { key: owner.key, now: new Date() })
  return { method: 'PUT', path: pathOf(contract, uri), headers: { authorization }, body: share }
}

/** Waits until the contracts know of all of these uploads, and takes them out of the list. */
async function waitForConfirmations({ isConfirmed }: EnginePlace, sentUploads: Upload[]): Promise<void> {
  const deadline = performance.now() + CONFIRMED_WITHIN_MS
  for (let last = sentUploads.at(-1); last !== undefined; last = sentUploads.at(-1)) {
    if (await isConfirmed(last)) sentUploads.pop()
    else await new Promise((resolve) => setTimeout(resolve, 100))
    if (performance.now() > deadline) throw new Error(`${sentUploads.length} uploads were not confirmed`)
  }
}
