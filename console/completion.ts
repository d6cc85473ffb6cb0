/** Completes a deferred session: with its data, or by denying it. */
import type { IssuerSchemas } from '../sdk/server/index.ts'
import { createClaimForm } from './claim-form.ts'
import { issuerClient, readConfigurations } from './clients.ts'
import { element, field, hiddenProblem, oneAtATime, showProblem } from './dom.ts'

/** Draws the decision about a session that was started without its data. */
export function drawCompletion(session: IssuerSchemas['IssuanceSession']): HTMLElement {
  const { session_id: id, credential_configurations: ids } = session
  const problem = hiddenProblem()
  const decide = (completion: IssuerSchemas['Completion']): Promise<unknown> =>
    issuerClient.completeSession(id, completion).catch((error: unknown) => showProblem(problem, error))
  const place = element('div')
  const draw = async (): Promise<void> => {
    const configurations = await readConfigurations()
    const form = createClaimForm(ids.flatMap((each) => configurations.get(each) ?? []))
    const reason = element('input', { type: 'text' })
    const complete = oneAtATime(async () => {
      const dataset = form.read()
      if (dataset !== undefined) await decide({ credential_dataset: dataset })
    })
    const onsubmit = (event: Event): void => {
      event.preventDefault()
      complete()
    }
    const deny = oneAtATime(() => decide({ denied: true, ...(reason.value === '' ? {} : { reason: reason.value }) }))
    place.replaceChildren(
      element('form', { onsubmit }, form.drawn, element('button', { type: 'submit' }, 'Complete the session')),
      field('Reason, for the wallet', reason),
      element('button', { type: 'button', class: 'danger', onclick: deny }, 'Deny the credential'),
    )
  }
  draw().catch((error: unknown) => showProblem(problem, error))
  return element('div', { class: 'decision' }, element('h2', {}, 'The data is to come'), place, problem)
}
