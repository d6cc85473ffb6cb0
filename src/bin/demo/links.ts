/** The links of the demo for other wallets, and the commands for continuing by hand. */
import { join } from 'node:path'
import { isLoopback } from '../../protocol/private-host.ts'
import { certificateFile } from '../init/files.ts'
import { commandName, shellWord } from '../terminal/command-line.ts'
import { qrLines } from '../terminal/qr.ts'
import { hangingIndent, paint } from '../terminal/terminal.ts'
import { callService, readStartedSession, requireSuccess, type StartedSession } from './calls.ts'
import { dataset, newDataset } from './data.ts'
import type { DemoService } from './services.ts'
import type { DeclaredIds } from './walk.ts'

export interface Links {
  readonly offer: StartedSession
  readonly request: StartedSession
}

interface Services {
  readonly issuer: DemoService
  readonly verifier: DemoService
}

const LIFETIME_SECONDS = 86_400

/** Starts a session of the issuer and one of the verifier, and returns their links. */
export async function startLinks(
  { issuer, verifier }: Services,
  { configurationId, queryId }: DeclaredIds,
): Promise<Links> {
  const expiry = { expires_in: LIFETIME_SECONDS }
  const offer = { credential_dataset: dataset, credential_configurations: [configurationId], ...expiry }
  const request = { verification_query_id: queryId, ...expiry }
  return {
    offer: readStartedSession(requireSuccess(await callService(issuer, '/issuance/oid4vci/new-session', offer))),
    request: readStartedSession(
      requireSuccess(await callService(verifier, '/presentation/oid4vp/new-session', request)),
    ),
  }
}

export function linksText(
  { offer, request }: Links,
  { configurationId }: DeclaredIds,
  { issuer, walletHome }: Services & { walletHome: string },
): string {
  const home = ` --home ${shellWord(walletHome)}`
  return [
    paint('bold', 'Now with a wallet of your own'),
    '',
    ...paragraph(reachText(issuer.baseUrl)),
    ...paragraph(
      'Many wallets refuse plain http and self-signed certificates; those for development usually have a switch for it.',
    ),
    ...paragraph('The links are good for one day, and the first of them for one wallet.'),
    '',
    'Receive the student card:',
    '',
    ...qrLines(offer.link),
    offer.link,
    '',
    'Then show it:',
    '',
    ...qrLines(request.link),
    request.link,
    '',
    'Or with the reference wallet, in another terminal:',
    '',
    `  ${commandName()} wallet receive '${offer.link}'${home}`,
    `  ${commandName()} wallet present '${request.link}'${home}`,
    '',
    'Or have it ask by itself; your browser opens the page of the university:',
    '',
    `  ${commandName()} wallet receive --issuer ${issuer.baseUrl} --configuration ${configurationId}${home}`,
    '',
  ].join('\n')
}

export function curlText(services: Services, { configurationId, queryId }: DeclaredIds): string {
  const { issuer, verifier } = services
  const json = "-H 'Content-Type: application/json'"
  return `${paint('bold', 'Or by hand, in another terminal')}

The services, and the API keys that applications call them with:

  ISSUER=${issuer.url}
  ISSUER_KEY=${issuer.apiKey}
  VERIFIER=${verifier.url}
  VERIFIER_KEY=${verifier.apiKey}

A new offer, and what became of it (put in its session_id):

  curl -sS $ISSUER/issuance/oid4vci/new-session \\
    -H "Authorization: Bearer $ISSUER_KEY" ${json} \\
    -d '{"credential_configurations": ["${configurationId}"],
         "credential_dataset": ${JSON.stringify(newDataset)}}'; echo
  curl -sS $ISSUER/issuance/oid4vci/status/SESSION_ID \\
    -H "Authorization: Bearer $ISSUER_KEY"; echo

A new request, and its report (likewise):

  curl -sS $VERIFIER/presentation/oid4vp/new-session \\
    -H "Authorization: Bearer $VERIFIER_KEY" ${json} \\
    -d '{"verification_query_id": "${queryId}"}'; echo
  curl -sS $VERIFIER/presentation/oid4vp/status/SESSION_ID \\
    -H "Authorization: Bearer $VERIFIER_KEY"; echo

All they can do: $ISSUER/openapi and $VERIFIER/openapi
The issuer's certificate, for another verifier to trust:
  ${shellWord(join(issuer.directory, certificateFile('issuer')))}
`
}

function reachText(baseUrl: string): string {
  const { hostname, protocol } = new URL(baseUrl)
  if (protocol === 'https:') return `A phone reaches the services at ${baseUrl}, as long as the tunnel or proxy runs.`
  return isLoopback(hostname)
    ? 'This machine has no address on a private network, so that only a wallet on this machine can reach the services; a phone cannot.'
    : `A phone can reach the services at ${hostname} when it is on the same network as this machine, and no firewall is between them.`
}

function paragraph(text: string): string[] {
  return hangingIndent('', 0, text).split('\n')
}
