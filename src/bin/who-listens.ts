/** Identifies the service at a URL by the title of its OpenAPI document. */

/** The time limit for a response. */
export const ANSWER_MS = 3000

/** Returns the title of the OpenAPI document at the URL; undefined if there is none. */
export async function fetchTitle(baseUrl: string): Promise<string | undefined> {
  try {
    const response = await fetch(`${baseUrl}/openapi`, { signal: AbortSignal.timeout(ANSWER_MS) })
    const { info } = (await response.json()) as { info?: { title?: unknown } }
    return typeof info?.title === 'string' ? info.title : undefined
  } catch {
    return undefined
  }
}

/** Describes the program that listens at a port of this machine. */
export async function describeListener(port: number): Promise<string> {
  const title = await fetchTitle(`http://127.0.0.1:${port}`)
  return title === undefined ? 'another program' : `a ${title}`
}
