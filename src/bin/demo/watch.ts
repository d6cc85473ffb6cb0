/** Reports that a wallet has used a link of the demo. */
import { setTimeout as sleep } from 'node:timers/promises'
import { removeControlCharacters } from '../../codec/control-characters.ts'
import { paint } from '../terminal/terminal.ts'
import { fetchStatus, type Status } from './calls.ts'
import type { Links } from './links.ts'
import { claimLines, reportLines } from './report.ts'
import type { Cast } from './walk.ts'

const PAUSE_MS = 1000

/** Polls both sessions until they have ended, or the services have. */
export function reportWalletUse({ issuer, verifier, write }: Cast, { offer, request }: Links): void {
  const writeLine = (text: string): void => write(`\n${text}\n`)
  void waitForEnd(() => fetchStatus(issuer, 'issuance', offer.sessionId)).then((status) => {
    if (status) writeLine(issuanceText(status))
  })
  void waitForEnd(() => fetchStatus(verifier, 'presentation', request.sessionId)).then((status) => {
    if (status) writeLine(verificationText(status))
  })
}

/** Returns the last status of a session; undefined if the service cannot be reached any more. */
async function waitForEnd(ask: () => Promise<Status>): Promise<Status | undefined> {
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
    status === 'SUCCEEDED'
      ? 'A wallet has received the student card.'
      : `The offer: ${removeControlCharacters(status)}`,
  )
}

function verificationText({ status, result, wallet_error: error }: Status): string {
  const title = paint('bold', `A wallet has answered the request: ${removeControlCharacters(status)}`)
  if (error !== undefined)
    return `${title}\n${removeControlCharacters([error.error, error.error_description].filter(Boolean).join(': '))}`
  if (result === undefined) return title
  return [title, ...reportLines(result), '', ...claimLines(result)].join('\n')
}
