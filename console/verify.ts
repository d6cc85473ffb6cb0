/** Asks a wallet for claims: by ticks or a written query, with a dry run of it, and follows the session. */

import { hasDigitalCredentials } from '../sdk/element/digital-credentials.ts'
import type { VerifierSchemas } from '../sdk/server/index.ts'
import { pathText } from '../src/protocol/claim-path-text.ts'
import { drawBrowserWallet } from './browser-wallet.ts'
import { type OfferedConfiguration, verifierClient } from './clients.ts'
import { appendError, element, errorSentence, field, introduction, oneAtATime, replaceContent } from './dom.ts'
import { tryQuery } from './dry-run.ts'
import { createJsonEditor, type JsonEditor } from './json-editor.ts'
import { labelClaims, nameConfigurations } from './labels.ts'
import type { ShowPage } from './page.ts'
import { drawLink } from './qr-code.ts'
import { type AskedConfiguration, queryFor } from './query.ts'
import { readConfigurationsIfAny, watchSession } from './session.ts'

type Query = VerifierSchemas['DcqlQuery']

const EXAMPLE: OfferedConfiguration = { format: 'dc+sd-jwt', vct: 'https://university.example/student-card' }
/** The pause after the last key before a query is tried. */
const TYPING_MS = 400

export const showVerify: ShowPage = async (main, { services, signal }) => {
  main.append(
    introduction(
      'Verify a credential',
      'Tick the claims to ask for, or write the query, and let a wallet scan the code.',
    ),
  )
  if (services.verifier === undefined) {
    main.append(element('p', {}, 'This console has no verifier; start it with --verifier.'))
    return
  }
  const configurations =
    services.issuer === undefined ? new Map<string, OfferedConfiguration>() : await readConfigurationsIfAny()
  const place = element('div')
  main.append(place)
  place.append(drawForm(place, configurations, signal))
}

function drawForm(
  place: HTMLElement,
  configurations: ReadonlyMap<string, OfferedConfiguration>,
  signal: AbortSignal,
): HTMLElement {
  const pasted = element('textarea', { rows: '3', spellcheck: 'false' })
  const dryRun = element('div', { class: 'card', 'aria-live': 'polite' })
  const look = afterTyping(() => void tryOut(editor, { configurations, pasted: pasted.value.trim() }, dryRun), signal)
  const editor = createJsonEditor('Query (DCQL)', look)
  const write = (askedConfigurations: readonly AskedConfiguration[]): void => {
    editor.write(queryFor(askedConfigurations))
    look()
  }
  pasted.addEventListener('input', look)
  const ask = oneAtATime(async () => {
    const query = editor.read()
    if (query === undefined) return
    await startSession(place, query as Query, signal).catch((error: unknown) => editor.showError(error))
  })
  const onsubmit = (event: Event): void => {
    event.preventDefault()
    ask()
  }
  const [[id, configuration] = ['credential', EXAMPLE] as const] = configurations
  // The first claim is ticked, as the query says that is written first.
  const paths = (configuration.credential_metadata?.claims ?? []).slice(0, 1).map(({ path }) => path)
  write([{ id, configuration, paths }])
  return element(
    'form',
    { class: 'card', onsubmit },
    configurations.size > 0 && element('h2', {}, 'Ask for'),
    drawTicks(configurations, write),
    editor.drawn,
    element('h2', {}, 'Who would answer'),
    element('p', { class: 'quiet' }, 'An example of each credential of the issuer, before anybody is asked.'),
    dryRun,
    element('details', {}, element('summary', {}, 'Try one more'), field('Credential, as issued', pasted)),
    element('button', { type: 'submit' }, 'Ask'),
  )
}

/** Tries the query that is written; a mistake of it is shown beside its line. */
async function tryOut(
  editor: JsonEditor,
  { configurations, pasted }: { configurations: ReadonlyMap<string, OfferedConfiguration>; pasted: string },
  dryRun: HTMLElement,
): Promise<void> {
  const queryText = editor.text.value
  const query = editor.read()
  if (query === undefined) {
    dryRun.replaceChildren(element('p', {}, 'The query cannot be read yet.'))
    return
  }
  try {
    const drawn = await tryQuery(query, configurations, pasted)
    if (editor.text.value === queryText) dryRun.replaceChildren(drawn)
  } catch (error) {
    if (editor.text.value !== queryText) return
    if ((error as Error).message.startsWith('dcql_query')) editor.showError(error)
    dryRun.replaceChildren(element('p', { class: 'problem' }, errorSentence(error)))
  }
}

/** Starts a session for the query, and follows it. */
async function startSession(place: HTMLElement, query: Query, signal: AbortSignal): Promise<void> {
  const id = await verifierClient.createQuery(query)
  const { session_id, request_uri, digital_credentials_uri } = await verifierClient.startSession({
    verification_query_id: id,
    ...(hasDigitalCredentials() && { origin: location.origin }),
  })
  const browserWallet = digital_credentials_uri !== undefined && drawBrowserWallet(digital_credentials_uri, signal)
  replaceContent(place, drawLink(request_uri), browserWallet)
  const watching = watchSession(place, 'verifier', session_id, signal)
  await watching.catch((error: unknown) => appendError(place, error, signal))
}

/** Draws the claims of every configuration, to tick; the query asks for all that are ticked together. */
function drawTicks(
  configurations: ReadonlyMap<string, OfferedConfiguration>,
  write: (chosen: readonly AskedConfiguration[]) => void,
): HTMLElement {
  const groups = [...configurations].map(([id, configuration], place) => {
    const claims = configuration.credential_metadata?.claims ?? []
    const labels = labelClaims(claims)
    const ticks = claims.map(({ path }, index) => ({
      path,
      label: labels[index] ?? '',
      input: element('input', { type: 'checkbox', checked: place === 0 && index === 0 }),
    }))
    return { id, configuration, ticks }
  })
  const rewrite = (): void => {
    const askedConfigurations = groups.map(({ ticks, ...group }) => ({
      ...group,
      paths: ticks.filter(({ input }) => input.checked).map(({ path }) => path),
    }))
    write(askedConfigurations.filter(({ paths }) => paths.length > 0))
  }
  const names = new Map(nameConfigurations(configurations))
  const drawn = groups.map(({ id, ticks }) => {
    const labels = ticks.map(({ path, label, input }) => {
      input.addEventListener('change', rewrite)
      return element('label', { class: 'tick', title: pathText(path) }, input, ` ${label}`)
    })
    return element('fieldset', {}, element('legend', {}, names.get(id) ?? id), ...labels)
  })
  return element('div', { class: 'asked' }, ...drawn)
}

/** Makes a function that acts when nobody has called it for a moment, unless the page was left. */
function afterTyping(act: () => void, signal: AbortSignal): () => void {
  let timer: ReturnType<typeof setTimeout> | undefined
  return () => {
    clearTimeout(timer)
    timer = setTimeout(() => {
      if (!signal.aborted) act()
    }, TYPING_MS)
  }
}
