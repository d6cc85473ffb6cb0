/** The questions of `vouchsafe wallet` to the person: consent to a presentation, and the transaction code. */
import { createInterface } from 'node:readline'
import { removeControlCharacters } from '../../codec/control-characters.ts'
import { refuseWith } from '../../wallet/error.ts'
import type { TxCodeDescription } from '../../wallet/offer.ts'
import { wrapIndented } from '../terminal/terminal.ts'

/**
 * Shows `what`, and asks whether to present it and approve transactions of these types, which the wallet does not know.
 * Refuses with `not_agreed` without a terminal.
 */
export type AskConsent = (what: string, unknownTypes: readonly string[]) => Promise<boolean>

/** Creates the function that asks for consent. With `isGiven`, the person has agreed with --yes. */
export function createConsentQuestion(isGiven: boolean, show: (text: string) => void): AskConsent {
  if (isGiven) return createStandingConsent(show)
  return process.stdin.isTTY ? askConsentAtTerminal : createConsentRefusal(show)
}

/** Creates an `askConsent` that only shows the text, for --yes. */
function createStandingConsent(show: (text: string) => void): AskConsent {
  return (what) => {
    show(what)
    return Promise.resolve(true)
  }
}

function createConsentRefusal(show: (text: string) => void): AskConsent {
  return (what) => {
    show(what)
    return refuseWith('not_agreed', 'Nothing was sent: there is no terminal to ask at. To agree beforehand, add --yes')
  }
}

async function askConsentAtTerminal(what: string, unknownTypes: readonly string[]): Promise<boolean> {
  const names = [...new Set(unknownTypes)].map((type) => `"${removeControlCharacters(type)}"`).join(', ')
  const approval = names === '' ? '' : `, and approve the unknown type ${names}`
  return /^y(es)?$/i.test(await askAtTerminal(what, `Present this${approval}? [y/N] `))
}

/** Asks for the transaction code of an offer. Refuses with `needs_tx_code` without a terminal. */
export function askTxCodeAtTerminal({ inputMode, length, description }: TxCodeDescription): Promise<string> {
  const kind = `${length === undefined ? '' : `${length} `}${inputMode === 'text' ? 'characters' : 'digits'}`
  const words = removeControlCharacters(description ?? '')
  const hint = words === '' ? '' : ` The issuer says: "${words}"${/[.!?]$/.test(words) ? '' : '.'}`
  const what = `The issuer wants a transaction code (${kind}), which it has given you another way.${hint}`
  if (!process.stdin.isTTY) refuseWith('needs_tx_code', `${what} Send it with --tx-code CODE`)
  return askAtTerminal(wrapIndented(what), 'Transaction code: ')
}

/** Reads a line of input; empty if the input is closed. */
function askAtTerminal(what: string, question: string): Promise<string> {
  // The question goes to stderr, since stdout may have JSON.
  const terminal = createInterface({ input: process.stdin, output: process.stderr })
  return new Promise((resolve) => {
    terminal.once('close', () => resolve(''))
    process.stderr.write(`${what}\n\n`)
    terminal.question(question, (answer) => {
      resolve(answer.trim())
      terminal.close()
    })
  })
}
