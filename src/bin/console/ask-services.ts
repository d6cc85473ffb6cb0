/** Asks the services of a console, when it opens, whether they answer and take its keys. */
import { ANSWER_MS } from '../network/who-listens.ts'
import { type ConsoleEngine, type ConsoleServices, KEY_VARIABLES, type ServiceWord } from './endpoints.ts'
import { refusedKeyText } from './forward.ts'

/** Returns a sentence for each service that does not answer, or refuses the key; the console opens all the same. */
export async function findServiceProblems(
  { issuer, verifier, engines = [] }: ConsoleServices,
  fetchFrom: typeof globalThis.fetch,
): Promise<readonly string[]> {
  const problems = await Promise.all([
    issuer && askService('issuer', issuer, '/operations/overview', fetchFrom),
    verifier && askService('verifier', verifier, '/operations/overview', fetchFrom),
    ...engines.map((engine) => askService('engine', engine, '/engine', fetchFrom)),
  ])
  return problems.filter((problem) => problem !== undefined)
}

async function askService(
  name: ServiceWord,
  { url, apiKey }: ConsoleEngine,
  path: string,
  fetchFrom: typeof globalThis.fetch,
): Promise<string | undefined> {
  try {
    const response = await fetchFrom(url + path, {
      headers: apiKey === undefined ? {} : { authorization: `Bearer ${apiKey}` },
      redirect: 'error',
      signal: AbortSignal.timeout(ANSWER_MS),
    })
    await response.body?.cancel()
    return response.status === 401 ? `${refusedKeyText(url, KEY_VARIABLES[name])}.` : undefined
  } catch {
    return `The ${name} at ${url} does not answer; look at its log, and whether it runs.`
  }
}
