/** Claims path pointers as texts, also in pages. OpenID4VP 1.0, Claims Path Pointer. */

/** A step of a path: a member name, an array index, or null for all elements of an array. */
export type ClaimStep = string | number | null

/** The steps of a path. A path without null is the position of one claim. */
export type ClaimPath = readonly ClaimStep[]

/** The maximum number of steps of a path in a query or a credential configuration. */
export const MAX_STEPS = 32

/** The maximum number of claims that metadata describes. */
export const MAX_CLAIMS = 500

/** Formats a path for people: `degrees[*].type`. */
export function pathText(path: ClaimPath): string {
  const steps = path.map((step) => {
    if (step === null) return '[*]'
    if (typeof step === 'number') return `[${step}]`
    return /^[\p{L}\p{N}_@$-]+$/u.test(step) ? `.${step}` : `[${JSON.stringify(step)}]`
  })
  return path.length === 0 ? 'the credential' : steps.join('').replace(/^\./, '')
}
