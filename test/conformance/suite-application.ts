/**
 * The application of an issuer that the suite drives: its page, where a press of one of two buttons decides, what the
 * suite's browser does there, and the offers that the suite waits for.
 */
import { createServer } from 'node:http'
import { createIssuerClient, type IssuerClient } from '../../sdk/server/index.ts'
import type { WaitingRun } from './suite-client.ts'
import type { SuiteService } from './suite-service.ts'

/** A credential configuration, and the claims that every person gets by it. */
export interface IssuedCredential {
  readonly configurationId: string
  readonly dataset: Record<string, unknown>
  /** The transaction code, where offers have a pre-authorized code. */
  readonly txCode?: string
}

export interface Application {
  /** Sends an offer where the module waits for one. */
  sendOffer(run: WaitingRun, credential: IssuedCredential): Promise<void>
  close(): void
}

/** The addresses between which the browser goes; `page` and `suite` are the beginnings of others. */
export interface BrowserPlaces {
  readonly authorizationEndpoint: string
  readonly page: string
  readonly suite: string
}

/** The module in which two wallets answer the same offer. */
const MODULE_OF_TWO_WALLETS = 'oid4vci-1_0-issuer-happy-flow-multiple-clients'
const REFRESH_SECONDS = 86_400
const HTML = { 'content-type': 'text/html; charset=utf-8' }

/** Starts the application, with its page at the port of this machine. */
export function startApplication(
  issuer: SuiteService,
  port: number,
  credentials: readonly IssuedCredential[],
): Application {
  const client = createIssuerClient(issuer)
  const server = createServer((request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? '', 'http://localhost')
    const interaction = searchParams.get('interaction') ?? ''
    if (pathname === '/') {
      response.writeHead(200, HTML).end(pageOf(interaction))
      return
    }
    decide(client, credentials, { interaction, isDenied: pathname === '/deny' }).then(
      (location) => response.writeHead(303, { location }).end(),
      (error: unknown) => response.writeHead(500).end(String(error)),
    )
  }).listen(port, '127.0.0.1')
  const counts = new Map<string, number>()
  return {
    sendOffer: async (run, credential) => {
      const sent = counts.get(run.id) ?? 0
      if ((await run.count('VCIWaitForCredentialOffer')) <= sent) return
      counts.set(run.id, sent + 1)
      const isForTwo = run.module === MODULE_OF_TWO_WALLETS && credential.txCode === undefined
      const offer = isForTwo ? offerForEverybody(issuer, credential) : await offerForOne(client, credential)
      await fetch(`${run.exposed.credential_offer_endpoint}?${offer}`)
    },
    close: () => void server.close(),
  }
}

function pageOf(interaction: string): string {
  const link = (choice: string) => `<a id="${choice}" href="/${choice}?interaction=${interaction}">${choice}</a>`
  return `<!doctype html><title>Student card</title><p>Your student card: ${link('approve')} or ${link('deny')}?</p>`
}

/** Decides as the person did, and returns where the browser goes. */
async function decide(
  client: IssuerClient,
  credentials: readonly IssuedCredential[],
  { interaction, isDenied }: { readonly interaction: string; readonly isDenied: boolean },
): Promise<string> {
  const { session_id: offered, credential_configurations: ids } = await client.getInteraction(interaction)
  const dataset = credentials.find(({ configurationId }) => configurationId === ids[0])?.dataset ?? {}
  const approval = offered
    ? { approved: true as const }
    : { credential_dataset: dataset, refresh_seconds: REFRESH_SECONDS }
  const { redirect_uri: back } = await client.completeInteraction(interaction, isDenied ? { denied: true } : approval)
  return back
}

/** Returns the query of an offer of a session, which one wallet can answer. */
async function offerForOne(
  client: IssuerClient,
  { configurationId, dataset, txCode }: IssuedCredential,
): Promise<string> {
  const { credential_offer_uri: offer } = await client.startSession({
    credential_configurations: [configurationId],
    credential_dataset: dataset,
    refresh_seconds: REFRESH_SECONDS,
    ...(txCode === undefined ? { grants: ['authorization_code'] } : { tx_code: { value: txCode } }),
  })
  return new URL(offer).search.slice(1)
}

/** Returns the query of an offer of no session, as one on a poster is. */
function offerForEverybody({ url }: SuiteService, { configurationId }: IssuedCredential): string {
  const grants = { authorization_code: {} }
  const offer = { credential_issuer: url, credential_configuration_ids: [configurationId], grants }
  return new URLSearchParams({ credential_offer: JSON.stringify(offer) }).toString()
}

/** Returns the visits of the suite's browser whose person presses the button. */
export function visitsPressing(button: 'approve' | 'deny', places: BrowserPlaces): readonly object[] {
  return [visit(places, [['click', 'id', button]])]
}

/** Returns visits of which the first one only looks at the page, and the second one approves. */
export function visitsLookingFirst(places: BrowserPlaces): readonly object[] {
  const first = visit(places, [['wait', 'id', 'approve', 10]])
  return [{ ...first, 'match-limit': 1 }, ...visitsPressing('approve', places)]
}

/** Returns a visit that ends at the suite, or at an error of the issuer, of which the suite wants a picture. */
function visit({ authorizationEndpoint, page, suite }: BrowserPlaces, commands: readonly unknown[]): object {
  const match = `${authorizationEndpoint}*`
  // A person then has to look at the picture: the module ends with REVIEW.
  const picture = ['wait', 'xpath', '//body', 10, 'invalid_request', 'update-image-placeholder']
  return {
    match,
    tasks: [
      { task: 'decide', match: `${page}*`, optional: true, commands },
      { task: 'return', match: `${suite}*`, optional: true, commands: [['wait', 'id', 'submission_complete', 10]] },
      { task: 'show the error', match, optional: true, commands: [picture] },
    ],
  }
}
