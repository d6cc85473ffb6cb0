/** The dry run of a query: which credentials would answer, and why the others would not, before anybody is asked. */

import type { VerifierSchemas } from '../sdk/server/index.ts'
import { type ClaimPath, pathText } from '../src/protocol/claim-path-text.ts'
import { type OfferedConfiguration, verifierClient } from './clients.ts'
import { element } from './dom.ts'
import { nameConfigurations } from './labels.ts'
import { exampleOf } from './query.ts'

type SimulationResult = VerifierSchemas['SimulationResult']
type PostedCredential = VerifierSchemas['Simulation']['credentials'][number]

/** The most credentials that a dry run takes, less one that somebody has pasted. */
const MAX_EXAMPLES = 99
/** A credential of no type, so that a query can be looked at where there is no credential to try. */
const NONE = { format: 'dc+sd-jwt', vct: 'urn:none', claims: {} }

/** Tries a query with an example of each configuration, and with `pasted`. Rejects with the mistakes of the query. */
export async function tryQuery(
  query: unknown,
  configurations: ReadonlyMap<string, OfferedConfiguration>,
  pasted: string,
): Promise<HTMLElement> {
  const examples = [...configurations].slice(0, MAX_EXAMPLES)
  const names = nameConfigurations(new Map(examples)).map(([, name]) => name)
  const credentials: PostedCredential[] = examples.map(([, configuration]) => exampleOf(configuration, query))
  if (pasted !== '') {
    credentials.push(pasted)
    names.push('The pasted credential')
  }
  if (credentials.length === 0) credentials.push(NONE)
  const dcqlQuery = query as VerifierSchemas['DcqlQuery']
  const result = await verifierClient.simulate({ dcql_query: dcqlQuery, credentials })
  return drawResult(result, names)
}

function drawResult(
  { satisfied, explanation, credential_queries: queries }: SimulationResult,
  names: readonly string[],
) {
  const verdict =
    names.length === 0
      ? 'The query is a good one. There is no credential to try it with; paste one.'
      : satisfied
        ? 'A wallet with these credentials could answer.'
        : 'A wallet with all of these credentials could not answer.'
  return element(
    'div',
    {},
    element('p', { class: satisfied || names.length === 0 ? 'good' : 'bad' }, verdict),
    explanation !== undefined && element('p', { class: 'warning' }, explanation),
    ...(names.length === 0 ? [] : Object.entries(queries).map(([id, answer]) => drawAnswer(id, answer, names))),
  )
}

function drawAnswer(
  id: string,
  { matches, others }: SimulationResult['credential_queries'][string],
  names: readonly string[],
): HTMLElement {
  const nameOf = (index: number): string => names[index] ?? ''
  const answering = matches.map(({ credential, discloses }) => {
    const paths = discloses.map((path) => pathText(path as ClaimPath)).join(', ')
    return row('good', 'answers', nameOf(credential), paths === '' ? 'discloses no claim' : `discloses ${paths}`)
  })
  const silent = others.map(({ credential, reason }) => row('quiet', 'does not', nameOf(credential), reason))
  return element('table', { class: 'tried' }, element('caption', {}, id), ...answering, ...silent)
}

function row(look: string, word: string, name: string, why: string): HTMLElement {
  return element(
    'tr',
    {},
    element('td', {}, element('span', { class: `state ${look}` }, word)),
    element('th', { scope: 'row' }, name, element('small', {}, why)),
  )
}
