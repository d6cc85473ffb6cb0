/** An engine whose component sends transactions, for the tests of the outbox. */
import { type Script, serving, type TestEngine, type TestEngineOptions } from './engine.ts'
import { closeAfterTest } from './engine-calls.ts'

/** Sends a transaction for each word of the path, whose gas may follow a colon. */
export const sending: Script = {
  http: (hands) => {
    const { hook } = hands.call
    for (const word of hook.kind === 'http' ? hook.request.uri.slice(1).split(',') : []) {
      const [payload = '', gas = '0'] = word.split(':')
      hands.transact(payload, BigInt(gas))
    }
    return Promise.resolve({})
  },
}

/** Starts an engine that serves {@link sending}. */
export const started = (options?: TestEngineOptions) => closeAfterTest(serving(sending, options))

/** Makes the component send a transaction for each of the words. */
export const send = (engine: TestEngine, words: string) =>
  engine.engine.app.inject({ method: 'POST', url: `${engine.url}/${words}` })

/** Returns the nonces and payloads of what was sent. */
export const payloads = ({ chain }: TestEngine) =>
  chain.submitted.map(({ raw, nonce }) => [nonce, Buffer.from(raw.split(' ')[1] ?? '', 'hex').toString()])

/** Lets time pass, and the engine do what it does by itself. */
export const pass = async (engine: TestEngine, seconds: number): Promise<void> => {
  engine.clock.now = new Date(engine.clock.now.getTime() + seconds * 1000)
  engine.chain.mine()
  await engine.rounds()
}

/** Includes what was sent in a block. */
export const include = ({ chain }: TestEngine): void => {
  for (const { hash } of chain.submitted) chain.outcomes.set(hash, 'included')
  chain.mine()
}
