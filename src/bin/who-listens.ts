/** Which service of ours answers somewhere, by the title of its OpenAPI document. */

/** Whoever answers at all does so by then. */
export const ANSWER_MS = 3000

/** What the OpenAPI document there says it describes. */
export async function titleAt(baseUrl: string): Promise<string | undefined> {
  try {
    const response = await fetch(`${baseUrl}/openapi`, { signal: AbortSignal.timeout(ANSWER_MS) })
    const { info } = (await response.json()) as { info?: { title?: unknown } }
    return typeof info?.title === 'string' ? info.title : undefined
  } catch {
    return undefined
  }
}

/** Who has a port of this machine, in words. */
export async function whoListens(port: number): Promise<string> {
  const title = await titleAt(`http://127.0.0.1:${port}`)
  return title === undefined ? 'another program' : `a ${title}`
}
