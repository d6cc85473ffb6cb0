/** What becomes of the links that the demo leaves: said as soon as a wallet has used one. */
import { setTimeout as sleep } from 'node:timers/promises'
import { paint, plain } from '../terminal.ts'
import { type Status, statusOf } from './calls.ts'
import type { Links } from './links.ts'
import { claimLines, reportLines } from './report.ts'
import type { Cast } from './walk.ts'

const PAUSE_MS = 1000

/** Looks at both sessions until they are over, or the services are. */
export function watch({ issuer, verifier, write }: Cast, { offer, request }: Links): void {
  const tell = (text: string): void => write(`\n${text}\n`)
  void whenOver(() => statusOf(issuer, 'issuance', offer.sessionId)).then((status) => {
    if (status) tell(issuanceText(status))
  })
  void whenOver(() => statusOf(verifier, 'presentation', request.sessionId)).then((status) => {
    if (status) tell(verificationText(status))
  })
}

/** The last status of a session; undefined when the service cannot be asked any more. */
async function whenOver(ask: () => Promise<Status>): Promise<Status | undefined> {
  try {
    for (;;) {
      const status = await ask()
      if (status.status !== 'STARTED') return status
      await sleep(PAUSE_MS)
    }
  } catch {
    return undefined
  }
}

function issuanceText({ status }: Status): string {
  return paint(
    'bold',
    status === 'SUCCEEDED' ? 'A wallet has received the student card.' : `The offer: ${plain(status)}`,
  )
}

function verificationText({ status, result, wallet_error: error }: Status): string {
  const title = paint('bold', `A wallet has answered the request: ${plain(status)}`)
  if (error !== undefined)
    return `${title}\n${plain([error.error, error.error_description].filter(Boolean).join(': '))}`
  if (result === undefined) return title
  return [title, ...reportLines(result), '', ...claimLines(result)].join('\n')
}
