/** Engines of tests that are called over HTTP, and a component that most of those calls are made to. */
import { onTestFinished } from 'vitest'
import { type Hands, type Script, serving, type TestEngine, type TestEngineOptions, text } from './engine.ts'

/** Closes the engine when the test is over. */
export function closedAfterwards(engine: TestEngine): TestEngine {
  onTestFinished(() => engine.engine.app.close())
  return engine
}

/** Closes the engine that is being started when the test is over. */
export const closeAfterTest = (starting: Promise<TestEngine>): Promise<TestEngine> => starting.then(closedAfterwards)

/** Returns the answer of a contract, or the code by which the engine refuses. */
export const answer = async ({ engine, url }: TestEngine, at = url) => {
  const { statusCode, headers, body } = await engine.app.inject(at)
  return statusCode === 200 ? body : headers['x-engine-error']
}

export const contractsOf = async ({ engine }: TestEngine) =>
  (await engine.app.inject('/engine')).json<{ contracts: { state_change: string }[] }>().contracts

/** A component that answers every request with these words. */
export const saying = (words: string): Script => ({ http: () => Promise.resolve(text(words)) })

export const later = ({ clock }: TestEngine, seconds: number): void => {
  clock.now = new Date(clock.now.getTime() + seconds * 1000)
}

export const started = async (script: Script, options?: TestEngineOptions): Promise<TestEngine> =>
  closedAfterwards(await serving(script, options))

export const uriOf = ({ call: { hook } }: Hands): string => (hook.kind === 'http' ? hook.request.uri : '')
export const bodyOf = ({ call: { hook } }: Hands): string =>
  hook.kind === 'http' ? Buffer.from(hook.request.body).toString() : ''

/** The component stores a value by PUT, gives it back by GET, and takes it away by DELETE. */
export const shelf: Script = {
  http: async (hands) => {
    const method = hands.call.hook.kind === 'http' ? hands.call.hook.request.method : ''
    if (method === 'GET') return text((await hands.get(uriOf(hands))) ?? '-')
    hands.set(uriOf(hands), method === 'DELETE' ? undefined : bodyOf(hands))
    hands.transact(`stored ${uriOf(hands)}`)
    if (bodyOf(hands) === 'trap') throw new Error('trap')
    return bodyOf(hands) === 'bad' ? 'bad-response' : bodyOf(hands) === 'late' ? 'deadline' : { status: 201 }
  },
}
export const get = async ({ engine, url }: TestEngine, path = '/a') => (await engine.app.inject(url + path)).body
export const put = ({ engine, url }: TestEngine, payload: string, path = '/a') =>
  engine.app.inject({ method: 'PUT', url: url + path, payload })
