/** Issues a credential: choose or make a configuration, fill in the claims, and follow the session. */
import type { IssuerSchemas } from '../sdk/server/index.ts'
import { drawCard } from './card.ts'
import { createClaimForm } from './claim-form.ts'
import { issuerClient, type OfferedConfiguration, readConfigurations } from './clients.ts'
import { drawConfigurationForm } from './configuration-form.ts'
import { appendError, element, hiddenProblem, introduction, oneAtATime, replaceContent, showProblem } from './dom.ts'
import { configurationName, displayOfConfiguration, nameConfigurations } from './labels.ts'
import type { ShowPage } from './page.ts'
import { drawLink } from './qr-code.ts'
import { watchSession } from './session.ts'

export const showIssue: ShowPage = async (main, { services, signal }) => {
  main.append(
    introduction('Issue a credential', 'Choose what to issue, fill in its claims, and let a wallet scan the code.'),
  )
  if (services.issuer === undefined) {
    main.append(element('p', {}, 'This console has no issuer; start it with --issuer.'))
    return
  }
  const place = element('div')
  main.append(place)
  await chooseConfiguration(place, signal)
}

/** Shows the configurations of the issuer, and a form for a new one. */
async function chooseConfiguration(place: HTMLElement, signal: AbortSignal): Promise<void> {
  const configurations = await readConfigurations()
  const names = new Map(nameConfigurations(configurations))
  const cards = [...configurations].map(([id, configuration]) => {
    const name = names.get(id) ?? id
    const card = drawCard(name, displayOfConfiguration(configuration))
    return element(
      'button',
      { type: 'button', class: 'choice', onclick: () => fillClaims(place, id, configuration, signal) },
      card,
      element('small', {}, configuration.format),
    )
  })
  replaceContent(
    place,
    cards.length === 0 && element('p', {}, 'The issuer has no credential configuration yet. Make one here:'),
    element('div', { class: 'choices' }, ...cards),
    element(
      'details',
      { open: cards.length === 0 },
      element('summary', {}, 'New credential configuration'),
      drawConfigurationForm(() => chooseConfiguration(place, signal)),
    ),
  )
}

/** Shows a form with a field for each claim, whose button starts the session. */
function fillClaims(place: HTMLElement, id: string, configuration: OfferedConfiguration, signal: AbortSignal): void {
  const form = createClaimForm([configuration])
  const code = element('input', { type: 'checkbox' })
  const later = element('input', { type: 'checkbox' })
  const claims = element('fieldset', { class: 'plain' }, element('legend', {}, 'Claims'), form.drawn)
  later.addEventListener('change', () => {
    claims.disabled = later.checked
  })
  const problem = hiddenProblem()
  const start = oneAtATime(async () => {
    const dataset = later.checked ? undefined : form.read()
    if (dataset === undefined && !later.checked) return
    const session = {
      credential_configurations: [id],
      ...(dataset === undefined ? { deferred: true as const } : { credential_dataset: dataset }),
      ...(code.checked ? { tx_code: {} } : {}),
    }
    await issuerClient
      .startSession(session)
      .then((started) => showOffer(place, started, signal))
      .catch((error: unknown) => showProblem(problem, error))
  })
  const onsubmit = (event: Event): void => {
    event.preventDefault()
    start()
  }
  replaceContent(
    place,
    element(
      'form',
      { class: 'card', onsubmit },
      drawCard(configurationName(id, configuration), displayOfConfiguration(configuration)),
      claims,
      element('label', { class: 'tick' }, later, ' The data comes later; wallets wait for it'),
      element('label', { class: 'tick' }, code, ' Ask the holder for a transaction code'),
      element('button', { type: 'submit' }, 'Make the offer'),
      problem,
    ),
  )
}

async function showOffer(
  place: HTMLElement,
  session: IssuerSchemas['StartedIssuanceSession'],
  signal: AbortSignal,
): Promise<void> {
  const { session_id: id, credential_offer_uri: link, tx_code: code } = session
  replaceContent(
    place,
    drawLink(link),
    code !== undefined && element('p', {}, 'The transaction code is ', element('strong', { class: 'code' }, code), '.'),
  )
  await watchSession(place, 'issuer', id, signal).catch((error: unknown) => appendError(place, error, signal))
}
