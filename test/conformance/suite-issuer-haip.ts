/** An issuer with its own authorization server by HAIP, for the suite's plan for such issuers. */
import { createPrivateKey } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import { join } from 'node:path'
import { createIssuerClient, type IssuerClient } from '../../sdk/server/index.ts'
import type { SuitePlan, SuiteTarget, WaitingRun } from './suite-client.ts'
import { type SuiteService, startService } from './suite-service.ts'

const PORT = 23_079
const PAGE_PORT = 23_078
const PAGE = `http://localhost:${PAGE_PORT}/`
const PLAN = 'oid4vci-1_0-issuer-haip-test-plan'
const FLOWS = ['wallet_initiated', 'issuer_initiated']
const USER_REJECTS = 'fapi2-security-profile-final-user-rejects-authentication'
const VISITED_TWICE = 'fapi2-security-profile-final-par-ensure-reused-request-uri-prior-to-auth-completion-succeeds'
const WALLET = 'https://wallet.example'
const REFRESH_SECONDS = 86_400

const shared = { batch_size: 5, key_attestations_required: { key_storage: ['iso_18045_high'] } } as const
const person = { given_name: 'Ada', family_name: 'Lovelace' }
/** What is issued, by the suite's name of its format. */
const formats = {
  sd_jwt_vc: {
    configuration: { ...shared, format: 'dc+sd-jwt', vct: 'urn:example:student-card', scope: 'student_card' },
    dataset: person,
  },
  mdoc: {
    configuration: { ...shared, format: 'mso_mdoc', doctype: 'org.example.student-card', scope: 'student_card_mdoc' },
    dataset: { 'org.example.student-card': person },
  },
} as const

/** Where the browser may be: at the issuer, or at the suite. */
interface Place {
  readonly issuer: SuiteService
  readonly suite: URL
}

interface Issued {
  readonly format: string
  readonly id: string
  readonly dataset: object
}

export async function startIssuerByHaip(suite: URL): Promise<SuiteTarget> {
  const issuer = await startService(['issuer', '--profile', 'haip'], PORT, ({ issuer: own }) => ({
    issuer: { ...(own as object), identifier: 'base' },
    authentication: { interactionUrl: PAGE },
  }))
  const client = createIssuerClient(issuer)
  const issued: Issued[] = []
  for (const [format, { configuration, dataset }] of Object.entries(formats)) {
    issued.push({ format, dataset, id: await client.createConfiguration(configuration) })
  }
  const page = startPage(client, issued)
  return {
    plans: issued.flatMap((each) => FLOWS.map((flow) => planOf({ issuer, suite }, each, flow))),
    answer: (run) => sendOffer(client, issued, run),
    close: async () => {
      page.close()
      await issuer.close()
    },
  }
}

/** Starts the page of the application, at which a press of one of two buttons decides. */
function startPage(client: IssuerClient, issued: readonly Issued[]): Server {
  const server = createServer((request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? '', PAGE)
    const id = searchParams.get('interaction') ?? ''
    if (pathname === '/') return response.setHeader('content-type', 'text/html').end(pageOf(id))
    decide(client, issued, { id, isDenied: pathname === '/deny' }).then(
      (location) => response.writeHead(303, { location }).end(),
      (error: unknown) => response.writeHead(500).end(String(error)),
    )
  })
  return server.listen(PAGE_PORT, '127.0.0.1')
}

function pageOf(id: string): string {
  const link = (choice: string) =>
    `<a id="${choice}" href="/${choice}?interaction=${encodeURIComponent(id)}">${choice}</a>`
  return `<!doctype html><title>Student card</title><p>Do you want your student card? ${link('approve')} ${link('deny')}</p>`
}

/** Decides as the person did, and returns where the browser goes. */
async function decide(
  client: IssuerClient,
  issued: readonly Issued[],
  { id, isDenied }: { readonly id: string; readonly isDenied: boolean },
): Promise<string> {
  const {
    session_id: offered,
    credential_configurations: [wanted],
  } = await client.getInteraction(id)
  const dataset = issued.find((each) => each.id === wanted)?.dataset ?? person
  const approval = offered
    ? { approved: true as const }
    : { credential_dataset: { ...dataset }, refresh_seconds: REFRESH_SECONDS }
  const { redirect_uri: back } = await client.completeInteraction(id, isDenied ? { denied: true } : approval)
  return back
}

/** Brings the offers that the module waits for: two where it plays two wallets. */
async function sendOffer(client: IssuerClient, issued: readonly Issued[], run: WaitingRun): Promise<void> {
  const { credential_offer_endpoint: endpoint, credential_configuration_id: id } = run.exposed
  if (endpoint === undefined || (await run.count('VCIWaitForCredentialOffer')) <= (offers.get(run.id) ?? 0)) return
  offers.set(run.id, (offers.get(run.id) ?? 0) + 1)
  const { credential_offer_uri: offer } = await client.startSession({
    credential_configurations: [id ?? ''],
    credential_dataset: { ...issued.find((each) => each.id === id)?.dataset },
    refresh_seconds: REFRESH_SECONDS,
    grants: ['authorization_code'],
  })
  await fetch(`${endpoint}${new URL(offer).search}`)
}

const offers = new Map<string, number>()

function planOf(place: Place, { format, id }: Issued, flow: string): SuitePlan {
  const { issuer } = place
  const anchor = readFileSync(join(issuer.directory, 'conf', 'issuer-ca.pem'), 'utf8')
  const attester = attesterJwks(issuer)
  return {
    name: PLAN,
    variant: { credential_format: format, vci_authorization_code_flow_variant: flow },
    configuration: {
      vci: { credential_issuer_url: issuer.url, credential_configuration_id: id },
      client: { client_id: WALLET },
      client2: { client_id: `${WALLET}/second` },
      client_attestation: { issuer: WALLET, attester_jwks: attester, key_attestation_jwks: attester },
      credential: { trust_anchor_pem: anchor, status_list_trust_anchor_pem: anchor },
      browser: [visit(place, [press('approve')])],
      override: {
        [USER_REJECTS]: { browser: [visit(place, [press('deny')])] },
        [VISITED_TWICE]: {
          browser: [
            { ...visit(place, [see('approve')]), 'match-limit': 1 },
            visit(place, [['wait', 'id', 'approve', 10, '.*', 'update-image-placeholder'], press('approve')]),
          ],
        },
      },
    },
  }
}

const press = (button: string) => ['click', 'id', button]
const see = (element: string) => ['wait', 'id', element, 10]

/** Returns what the suite's browser does at the page, then where it ends: at the suite, or at an error of the issuer. */
function visit({ issuer, suite }: Place, commands: readonly unknown[]): object {
  const address = `${issuer.url}/auth/authorize*`
  const picture = ['wait', 'xpath', '//body', 10, '.*', 'update-image-placeholder']
  return {
    match: address,
    tasks: [
      { task: 'decide', match: `${PAGE}*`, optional: true, commands },
      { task: 'come back', match: `${suite.origin}/*`, optional: true, commands: [see('submission_complete')] },
      { task: 'show the error', match: address, optional: true, commands: [picture] },
    ],
  }
}

/** Returns the key of the test provider, which attests wallets and the keys of credentials. */
function attesterJwks({ directory }: SuiteService): object {
  const file = (name: string) => readFileSync(join(directory, 'test-provider', name), 'utf8')
  const x5c = [file('provider.pem').replaceAll(/-----.*-----|\s/g, '')]
  const jwk = createPrivateKey(file('provider.key')).export({ format: 'jwk' })
  return { keys: [{ ...jwk, alg: 'ES256', use: 'sig', kid: 'provider', x5c }] }
}
