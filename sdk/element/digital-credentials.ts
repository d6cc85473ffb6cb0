/**
 * The Digital Credentials API: the browser finds a wallet, on this device or on another one, and asks it. OpenID4VP
 * 1.0, appendix A.
 */

/** A request for one protocol, as `navigator.credentials.get` takes it, and the response to one, as it gives it. */
export interface DigitalMessage {
  readonly protocol: string
  readonly data: object
}

const TIMEOUT_MS = 10_000

/** Tests whether the browser has the API; a page that is not a secure context has none. */
export function hasDigitalCredentials(): boolean {
  return 'DigitalCredential' in globalThis
}

/** Fetches the requests of the session. Returns those that the browser allows; undefined where they cannot be read. */
export async function fetchDigitalRequests(
  url: URL,
  signal: AbortSignal,
): Promise<readonly DigitalMessage[] | undefined> {
  try {
    const response = await fetch(url, {
      cache: 'no-store',
      signal: AbortSignal.any([signal, AbortSignal.timeout(TIMEOUT_MS)]),
    })
    const { digital } = (await readAnswer(response)) as { readonly digital: { readonly requests: DigitalMessage[] } }
    return digital.requests.filter(({ protocol }) => DigitalCredential.userAgentAllowsProtocol(protocol))
  } catch (error) {
    report(error, signal)
    return undefined
  }
}

/**
 * Asks a wallet, and posts its response to the session. Returns the answer to that; undefined where the person
 * cancelled, or anything failed.
 */
export async function askWallet(
  url: URL,
  requests: readonly DigitalMessage[],
  signal: AbortSignal,
): Promise<{ readonly redirect_uri?: unknown } | undefined> {
  try {
    const options = { mediation: 'required', digital: { requests }, signal } as CredentialRequestOptions
    const { protocol, data } = (await navigator.credentials.get(options)) as Credential & DigitalMessage
    const response = await fetch(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ protocol, data }),
    })
    return (await readAnswer(response)) as { readonly redirect_uri?: unknown }
  } catch (error) {
    report(error, signal)
    return undefined
  }
}

/** Reads an answer of the verifier. Throws with what it says where it does not take the request. */
async function readAnswer(response: Response): Promise<unknown> {
  if (!response.ok) throw new Error(`status ${response.status} ${await response.text()}`)
  return response.json()
}

/** Tells the developer what failed, but not that the page itself ended the call. */
function report(error: unknown, { aborted }: AbortSignal): void {
  if (!aborted) console.warn('vouchsafe: digital credentials:', error)
}
