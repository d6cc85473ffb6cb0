/** Whether what had to catch a misbehaviour has caught it. */
import type { VerifierSchemas } from '../../sdk/server/index.ts'
import type { ServerError } from '../../src/wallet/error.ts'
import { element } from '../dom.ts'

/** Draws the verdict about an error of a service. */
export function drawVerdict(
  expectedError: string,
  serverError: ServerError | undefined,
  service: 'issuer' | 'verifier',
): HTMLElement {
  const isCaught = serverError?.error === expectedError
  const rest = isCaught
    ? `The ${service} caught it: ${serverError.error_description ?? 'it does not say why'}`
    : `The ${service} did not catch it${serverError === undefined ? '' : `, and answered ${serverError.error}`}.`
  return drawVerdictText(isCaught, expectedError, rest)
}

/**
 * Draws the verdict about a check of a report; `otherwise` says what a person should know when the check did not fail.
 */
export function drawCheckVerdict(
  expectedCheck: string,
  result: VerifierSchemas['VerificationResult'] | undefined,
  otherwise = '',
): HTMLElement {
  const credentials = Object.values(result?.credentials ?? {}).flat()
  const checks = [...(result?.checks ?? []), ...credentials.flatMap((each) => each.checks)]
  const check = checks.find(({ id }) => id === expectedCheck)
  if (check?.outcome === 'failed')
    return drawVerdictText(true, expectedCheck, `“${check.asks}” No: ${check.detail ?? ''}.`)
  const outcome = check === undefined ? 'is not in the report' : `is ${check.outcome}`
  return drawVerdictText(false, expectedCheck, `This check had to fail, and ${outcome}. ${otherwise}`)
}

function drawVerdictText(isCaught: boolean, expected: string, text: string): HTMLElement {
  return element(
    'p',
    { class: `verdict ${isCaught ? 'good' : 'bad'}`, role: 'status' },
    element('strong', {}, isCaught ? 'Caught by ' : 'Not caught by '),
    element('code', {}, expected),
    `. ${text}`,
  )
}
