/** The keys that engines sign their answers by; each has an endorsement by the identity that the contract lists. */
import { sha256 } from '@noble/hashes/sha2.js'
import { bytesToHex } from '@noble/hashes/utils.js'
import type { ListedEngine } from '../../src/chain/chain.ts'
import { memberOf, parseJson } from '../../src/codec/json.ts'
import { readOrUndefined } from '../../src/codec/malformed.ts'
import type { Recipient } from '../../src/offchain/authentication/signed-request.ts'
import type { HttpRequestData } from '../../src/offchain/http-data.ts'
import { parseEngineSignature, verifyEndorsement, verifyResponse } from '../../src/offchain/response-signature.ts'
import { readBounded } from './bounded.ts'
import { EngineError } from './errors.ts'

/** Keys that were seen to be an engine's: its address and the key, in hexadecimal. */
export type ResponseKeys = Map<string, string>

/** The most bytes of the document with the key: engines of earlier versions list all their contracts in it. */
const MAX_DOCUMENT_BYTES = 1_048_576

/** The most milliseconds between now and the time in the signature of an answer to a request that nobody signed. */
const MAX_DIFFERENCE_MS = 300_000

interface KeyContext {
  readonly fetch: typeof fetch
  readonly now: () => Date
  readonly keys: ResponseKeys
  readonly chain: Recipient['chain']
}

interface SignedAnswer {
  readonly engine: ListedEngine
  readonly request: HttpRequestData
  readonly recipient: Recipient & { readonly authorization: string }
  readonly answer: {
    readonly status: number
    readonly headers: Headers
    readonly body: Uint8Array
    readonly block: number | undefined
  }
  readonly until: AbortSignal
}

/**
 * Tests whether the engine signed its answer. Rejects with an {@link EngineError} when somebody else did, something
 * else was signed, or the answer to a request without a signature is not of now.
 */
export async function isSignedByEngine(context: KeyContext, signedAnswer: SignedAnswer): Promise<boolean> {
  const { engine, request, recipient, answer } = signedAnswer
  const header = answer.headers.get('x-engine-signature')
  if (header === null) return false
  const signature = parseEngineSignature(header)
  const parts = {
    chainId: recipient.chain.id,
    contract: recipient.contract,
    engine: engine.address,
    request: {
      method: request.method,
      uri: request.uri,
      authorization: recipient.authorization,
      bodyDigest: sha256(request.body),
    },
    response: {
      status: answer.status,
      contentType: answer.headers.get('content-type') ?? '',
      bodyDigest: sha256(answer.body),
    },
    block: answer.block ?? 0,
  }
  if (signature === undefined || answer.block === undefined || !verifyResponse(parts, signature)) {
    throw new EngineError(engine, 'bad-signature')
  }
  // A signed request has a nonce; the answer to another one could be an old answer to the same request.
  const differenceMs = Math.abs(context.now().getTime() - signature.time)
  if (recipient.authorization === '' && differenceMs > MAX_DIFFERENCE_MS) {
    const message = 'its answer was signed at another time: set the clock of this device, or ask again'
    throw new EngineError(engine, 'bad-signature', { message })
  }
  const key = bytesToHex(signature.publicKey)
  if (context.keys.get(engine.address) === key) return true
  if ((await fetchEndorsedKey(context, signedAnswer)) !== key) {
    const message = 'its answer is signed by a key that this engine did not endorse'
    throw new EngineError(engine, 'bad-signature', { message })
  }
  context.keys.set(engine.address, key)
  return true
}

/**
 * Returns the key that the engine shows, when its identity endorsed it. Rejects when it shows nothing that can be read.
 */
async function fetchEndorsedKey(
  { fetch, chain }: KeyContext,
  { engine, until }: SignedAnswer,
): Promise<string | undefined> {
  const response = await fetch(`${engine.endpoint}/engine`, { redirect: 'manual', signal: until, credentials: 'omit' })
  const document = await readBounded(response, MAX_DOCUMENT_BYTES, until)
  const member = memberOf(
    readOrUndefined(() => parseJson(document ?? '')),
    'endorsement',
  )
  const [key, at, by] = ['public_key', 'issued_at', 'signature'].map((name) => memberOf(member, name))
  if (typeof key !== 'string' || typeof at !== 'number' || typeof by !== 'string') {
    const message = 'it signs its answers, and does not show whose the key is'
    throw new EngineError(engine, 'unreachable', { message, status: response.status })
  }
  const endorsement = { public_key: key, issued_at: at, signature: by }
  return verifyEndorsement(endorsement, engine.address, chain) === undefined ? undefined : key
}
