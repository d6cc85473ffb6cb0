/** The engines of a key management contract, as whoever signs with them asks them. */
import { utf8Text } from '../../src/codec/utf8.ts'
import type { EngineClient } from './engine-client.ts'
import type { SigningEngine } from './key-management.ts'
import { askForFinalAnswer, askWhenReady } from './retries.ts'
import { ENGINES_PATIENCE_MS } from './secret-sharing.ts'
import type { RequestSigner } from './signers.ts'

export interface Signing {
  readonly client: EngineClient
  /** A signer that the key's policy allows. */
  readonly signer: RequestSigner
  /**
   * The time for which engines may be behind the chain, or busy, before they are given up; half a minute unless given.
   * Give more to sign with a key of a moment ago on a chain whose blocks are final late.
   */
  readonly patienceMs?: number
}

/**
 * Lists the engines in the order of the contract. Each is asked again while it may only be behind the newest block, in
 * which the key may have become active.
 */
export async function signingEngines({
  client,
  signer,
  patienceMs = ENGINES_PATIENCE_MS,
}: Signing): Promise<readonly SigningEngine[]> {
  const [{ number: block }, { engines }] = await Promise.all([client.chain.fetchHead(), client.engines()])
  return engines.map((engine, index) => ({
    index,
    name: engine.endpoint === '' ? engine.address : engine.endpoint,
    post: async (path, text) => {
      const headers = { 'content-type': 'application/json' }
      const request = { method: 'POST', path, headers, body: new TextEncoder().encode(text), signer }
      // A share can be asked for only once: it ends the nonces of the engine, also where the answer is lost.
      const { status, body } = path.endsWith('/signature-shares')
        ? await askWhenReady(client, engine, request, { patienceMs })
        : await askForFinalAnswer(client, engine, request, { block, patienceMs, mostMs: patienceMs })
      return { status, body: utf8Text(body) }
    },
  }))
}
