/** A form for the claims of a configuration, by the labels that wallets show. */
import { pathText } from '../src/protocol/claim-path-text.ts'
import type { OfferedConfiguration } from './clients.ts'
import { datasetOf } from './dataset.ts'
import { element, field } from './dom.ts'
import { createJsonEditor } from './json-editor.ts'
import { labelOfClaim } from './labels.ts'

export interface ClaimForm {
  readonly drawn: HTMLElement
  /** Reads the dataset as it was filled in; undefined when it is not JSON, and then the mistake is shown. */
  read(): Record<string, unknown> | undefined
}

/** Makes a field for each claim that is a member of objects; without any the dataset is written as JSON. */
export function createClaimForm(configurations: readonly OfferedConfiguration[]): ClaimForm {
  const claims = configurations.flatMap(({ credential_metadata: metadata }) => metadata?.claims ?? [])
  const fields = claims.flatMap((claim) => {
    const path = claim.path.filter((part) => typeof part === 'string')
    if (path.length !== claim.path.length) return []
    const input = element('input', { type: 'text', required: claim.mandatory ?? false, name: path.join('.') })
    return [
      { path, input, drawn: field(labelOfClaim(claim), input, noteOf(labelOfClaim(claim), path, claim.mandatory)) },
    ]
  })
  const editor = createJsonEditor('Claims, as JSON', () => editor.clearError())
  editor.write({})
  const isEmpty = fields.length === 0
  return {
    drawn: element('div', {}, ...(isEmpty ? [editor.drawn] : fields.map(({ drawn }) => drawn))),
    read: () =>
      isEmpty
        ? (editor.read() as Record<string, unknown> | undefined)
        : datasetOf(fields.map(({ path, input }) => ({ path, text: input.value }))),
  }
}

/**
 * Returns the claim's own name, where the label is another, and whether it must be filled in; undefined when neither is
 * to be said.
 */
function noteOf(label: string, path: readonly string[], mandatory = false): string | undefined {
  const parts = [...(label === pathText(path) ? [] : [pathText(path)]), ...(mandatory ? ['required'] : [])]
  return parts.length === 0 ? undefined : parts.join(' · ')
}
