/** Formats a transaction in full, since a person approves only what is shown. */

import { removeControlCharacters } from '../../codec/control-characters.ts'
import { pathText } from '../../protocol/claim-path-text.ts'
import { leavesOf } from '../../wallet/disclosure.ts'
import type { Approval } from '../../wallet/transaction.ts'
import { formatColumns, hangingIndent, paint } from '../terminal/terminal.ts'

/** The members that do not describe the transaction itself. */
const ABOUT = new Set(['type', 'credential_ids', 'transaction_data_hashes_alg'])
const INDENT = '  '

/** Formats the transaction. `credential` is the name of the credential that approves it. */
export function transactionText({ type, content }: Approval, credential: string): string {
  const leaves = leavesOf(content, []).filter(({ position }) => !ABOUT.has(String(position[0])))
  const labels = formatColumns(leaves.map(({ position }) => [removeControlCharacters(pathText(position)), ''])).map(
    (label) => label.trimEnd(),
  )
  const width = INDENT.length + Math.max(0, ...labels.map((label) => label.length)) + 2
  const lines = leaves.map(({ value }, index) => {
    const head = `${INDENT}${labels[index] ?? ''}`.padEnd(width)
    return hangingIndent(head, head.length, typeof value === 'string' ? value : JSON.stringify(value))
  })
  return [
    `${paint('bold', 'Presenting approves')} the transaction ${paint('bold', removeControlCharacters(type))} with ${removeControlCharacters(credential)}:`,
    `${INDENT}This wallet does not know the type. Approve it only if you know what it means:`,
    ...(lines.length > 0 ? lines.map((line) => paint('yellow', line)) : [`${INDENT}(it says nothing more)`]),
  ].join('\n')
}
