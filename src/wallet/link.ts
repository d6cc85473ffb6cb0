/** Parses the links in QR codes of issuers and verifiers: a scheme, and parameters that occur once. */
import { refuseWith } from './error.ts'

const MAX_CHARACTERS = 65_536

/**
 * Returns the parameters of a link with one of `schemes`. Refuses with `invalid_link`; `kind` names the expected link.
 */
export function readLink(link: string, schemes: readonly string[], kind: string): ReadonlyMap<string, string> {
  const text = link.trim()
  const hint = `a ${kind} begins with ${schemes.map((scheme) => `${scheme}://`).join(' or ')}`
  const [, scheme] = /^([a-z][a-z0-9+.-]*):/i.exec(text) ?? []
  if (scheme === undefined) return refuseWith('invalid_link', `this is not a link; ${hint}`)
  if (!schemes.includes(scheme.toLowerCase()))
    return refuseWith('invalid_link', `this is a link of ${scheme}:; ${hint}`)
  if (text.length > MAX_CHARACTERS || !URL.canParse(text)) {
    return refuseWith('invalid_link', 'the link cannot be read; copy it again in full, and quote it in a shell')
  }
  const parameters = new Map<string, string>()
  for (const [name, value] of new URL(text).searchParams) {
    if (parameters.has(name)) refuseWith('invalid_link', `the link has ${name} twice`)
    parameters.set(name, value)
  }
  return parameters
}
