/** Issues a credential: choose or make a configuration, fill in the claims, and follow the session. */
import type { IssuerSchemas } from '../sdk/server/index.ts'
import type { ShowPage } from './app.ts'
import { configurationName, drawCard } from './card.ts'
import { issuerClient, type OfferedConfiguration, readConfigurations } from './clients.ts'
import { datasetOf } from './dataset.ts'
import { element, field, introduction, showProblem } from './dom.ts'
import { drawLink } from './qr-code.ts'
import { watchSession } from './session.ts'

const EXAMPLE: IssuerSchemas['CredentialConfiguration'] = {
  format: 'dc+sd-jwt',
  vct: 'https://university.example/student-card',
  credential_metadata: {
    display: [{ name: 'Student card', background_color: '#1d3f72', text_color: '#ffffff' }],
    claims: [{ path: ['given_name'], mandatory: true }, { path: ['family_name'] }, { path: ['student_number'] }],
  },
}

export const showIssue: ShowPage = async (main, { signal }) => {
  main.append(
    introduction('Issue a credential', 'Choose what to issue, fill in its claims, and let a wallet scan the code.'),
  )
  const place = element('div')
  main.append(place)
  await chooseConfiguration(place, signal)
}

/** The configurations of the issuer, and a form for a new one. */
async function chooseConfiguration(place: HTMLElement, signal: AbortSignal): Promise<void> {
  const configurations = await readConfigurations()
  const cards = [...configurations].map(([id, configuration]) => {
    const name = configurationName(id, configuration)
    const card = drawCard(name, configuration.credential_metadata?.display?.[0])
    return element(
      'button',
      { type: 'button', class: 'choice', onclick: () => fillClaims(place, id, configuration, signal) },
      card,
      element('small', {}, configuration.format),
    )
  })
  place.replaceChildren(
    cards.length === 0 ? element('p', {}, 'The issuer has no credential configuration yet. Make one here:') : '',
    element('div', { class: 'choices' }, ...cards),
    element(
      'details',
      { open: cards.length === 0 },
      element('summary', {}, 'New credential configuration'),
      configurationForm(() => chooseConfiguration(place, signal)),
    ),
  )
}

/** A form for a configuration as JSON, with the card that wallets will draw. */
function configurationForm(onStored: () => Promise<void>): HTMLElement {
  const text = element('textarea', { rows: '16', spellcheck: 'false' }, JSON.stringify(EXAMPLE, null, 2))
  const preview = element('div')
  const problem = element('p', { class: 'problem', role: 'alert', hidden: true })
  const redraw = (): void => {
    try {
      const configuration = JSON.parse(text.value) as OfferedConfiguration
      preview.replaceChildren(
        drawCard(configurationName('', configuration), configuration.credential_metadata?.display?.[0]),
      )
      problem.hidden = true
    } catch (error) {
      showProblem(problem, error)
    }
  }
  const store = async (): Promise<void> => {
    await issuerClient.createConfiguration(JSON.parse(text.value) as IssuerSchemas['CredentialConfiguration'])
    await onStored()
  }
  text.addEventListener('input', redraw)
  redraw()
  return element(
    'div',
    { class: 'columns' },
    field('Configuration', text),
    preview,
    element(
      'button',
      { type: 'button', onclick: () => void store().catch((error: unknown) => showProblem(problem, error)) },
      'Store',
    ),
    problem,
  )
}

interface ClaimField {
  readonly path: readonly string[]
  readonly input: HTMLInputElement
}

/** A form with a field for each claim, whose button starts the session. */
function fillClaims(place: HTMLElement, id: string, configuration: OfferedConfiguration, signal: AbortSignal): void {
  const fields = claimFields(configuration)
  const dataset = element('textarea', { rows: '8', spellcheck: 'false' }, '{}')
  const code = element('input', { type: 'checkbox' })
  const problem = element('p', { class: 'problem', role: 'alert', hidden: true })
  const start = async (): Promise<void> => {
    const session = await issuerClient.startSession({
      credential_configurations: [id],
      credential_dataset:
        fields.length > 0
          ? datasetOf(fields.map(({ path, input }) => ({ path, text: input.value })))
          : (JSON.parse(dataset.value) as Record<string, unknown>),
      ...(code.checked ? { tx_code: {} } : {}),
    })
    await showOffer(place, session, signal)
  }
  const onsubmit = (event: Event): void => {
    event.preventDefault()
    start().catch((error: unknown) => showProblem(problem, error))
  }
  const inputs = fields.map(({ path, input }) =>
    field(path.at(-1) ?? '', input, input.required ? 'required' : undefined),
  )
  place.replaceChildren(
    element(
      'form',
      { class: 'card', onsubmit },
      drawCard(configurationName(id, configuration), configuration.credential_metadata?.display?.[0]),
      ...(inputs.length > 0 ? inputs : [field('Claims, as JSON', dataset)]),
      element('label', { class: 'tick' }, code, ' Ask the holder for a transaction code'),
      element('button', { type: 'submit' }, 'Make the offer'),
      problem,
    ),
  )
}

/** The claims of a configuration that are members of objects, each with its input. */
function claimFields({ credential_metadata: metadata }: OfferedConfiguration): readonly ClaimField[] {
  return (metadata?.claims ?? []).flatMap(({ path, mandatory = false }) => {
    const names = path.filter((part) => typeof part === 'string')
    if (names.length !== path.length) return []
    return [{ path: names, input: element('input', { type: 'text', required: mandatory, name: names.join('.') }) }]
  })
}

async function showOffer(
  place: HTMLElement,
  session: IssuerSchemas['StartedIssuanceSession'],
  signal: AbortSignal,
): Promise<void> {
  const { session_id: id, credential_offer_uri: link, tx_code: code } = session
  place.replaceChildren(
    drawLink(link),
    code === undefined
      ? ''
      : element('p', {}, 'The transaction code is ', element('strong', { class: 'code' }, code), '.'),
  )
  await watchSession(place, 'issuer', id, signal)
}
