/** Asks a wallet for claims: tick them, or write the query, and follow the session to its report. */
import type { VerifierSchemas } from '../sdk/server/index.ts'
import type { ShowPage } from './app.ts'
import { configurationName } from './card.ts'
import { type OfferedConfiguration, readConfigurations, verifierClient } from './clients.ts'
import { element, field, introduction, showProblem } from './dom.ts'
import { drawLink } from './qr-code.ts'
import { watchSession } from './session.ts'

type Query = VerifierSchemas['DcqlQuery']
type CredentialQuery = VerifierSchemas['CredentialQuery']

const EXAMPLE: OfferedConfiguration = {
  format: 'dc+sd-jwt',
  vct: 'https://university.example/student-card',
  credential_metadata: { claims: [{ path: ['given_name'] }] },
}

export const showVerify: ShowPage = async (main, { services, signal }) => {
  main.append(
    introduction(
      'Verify a credential',
      'Tick the claims to ask for, or write the query, and let a wallet scan the code.',
    ),
  )
  const configurations =
    services.issuer === undefined ? new Map<string, OfferedConfiguration>() : await readConfigurations()
  const place = element('div')
  main.append(place)
  const query = element('textarea', { rows: '14', spellcheck: 'false' })
  const write = (value: Query): void => {
    query.value = JSON.stringify(value, null, 2)
  }
  write({ credentials: [credentialQuery([...configurations.values()][0] ?? EXAMPLE)] })
  const problem = element('p', { class: 'problem', role: 'alert', hidden: true })
  const onsubmit = (event: Event): void => {
    event.preventDefault()
    ask(place, JSON.parse(query.value) as Query, signal).catch((error: unknown) => showProblem(problem, error))
  }
  const ticks = [...configurations].map(([id, configuration]) => claimTicks(id, configuration, write))
  const button = element('button', { type: 'submit' }, 'Ask')
  place.append(element('form', { class: 'card', onsubmit }, ...ticks, field('Query (DCQL)', query), button, problem))
}

/** Starts a session for the query, and follows it. */
async function ask(place: HTMLElement, query: Query, signal: AbortSignal): Promise<void> {
  const id = await verifierClient.createQuery(query)
  const { session_id, request_uri } = await verifierClient.startSession({ verification_query_id: id })
  place.replaceChildren(drawLink(request_uri))
  await watchSession(place, 'verifier', session_id, signal)
}

/** The claims of a configuration, to tick. Ticking writes the query. */
function claimTicks(id: string, configuration: OfferedConfiguration, write: (query: Query) => void): HTMLElement {
  const ticks = (configuration.credential_metadata?.claims ?? []).map(({ path }) => ({
    path,
    input: element('input', { type: 'checkbox' }),
  }))
  const rewrite = (): void => {
    const paths = ticks.filter(({ input }) => input.checked).map(({ path }) => ({ path: [...path] }))
    write({ credentials: [{ ...credentialQuery(configuration), claims: paths }] })
  }
  for (const { input } of ticks) input.addEventListener('change', rewrite)
  return element(
    'fieldset',
    {},
    element('legend', {}, configurationName(id, configuration)),
    ...ticks.map(({ path, input }) => element('label', { class: 'tick' }, input, ` ${String(path.at(-1))}`)),
  )
}

/** A query for all claims of a configuration. */
function credentialQuery({
  format,
  vct,
  doctype,
  credential_definition,
  credential_metadata,
}: OfferedConfiguration): CredentialQuery {
  const meta = {
    ...(vct !== undefined && { vct_values: [vct] }),
    ...(doctype !== undefined && { doctype_value: doctype }),
    ...(credential_definition?.type !== undefined && { type_values: [[...credential_definition.type]] }),
  }
  const claims = (credential_metadata?.claims ?? []).map(({ path }) => ({ path: [...path] }))
  return { id: 'credential', format, meta, ...(claims.length > 0 && { claims }) }
}
