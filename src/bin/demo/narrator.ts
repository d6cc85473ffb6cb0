/** The output of the demo: numbered steps, each with its request and its meaning. */

import { removeControlCharacters } from '../../codec/control-characters.ts'
import type { Step } from '../../wallet/context.ts'
import { hangingIndent, paint } from '../terminal/terminal.ts'

/** A step of the wallet or of another party; `what` follows `who`. */
export interface ShownStep extends Omit<Step, 'spec'> {
  readonly who: string
}

export interface Narrator {
  /** Starts a part of the walk. */
  beginPart(title: string): void
  /** Writes the next numbered step. */
  tellStep(step: ShownStep): void
  /** Writes a line about the last step. */
  addLine(label: string, text: string): void
  /** Returns the title of the current part. */
  getCurrentPart(): string
}

const MARGIN = 5
/** The indent of the lines below a step. */
export const INDENT = ' '.repeat(MARGIN)

/** Creates a narrator that prints the steps with `write`. */
export function createNarrator(write: (text: string) => void): Narrator {
  let [count, title] = [0, 'The services start']
  return {
    beginPart: (next) => {
      title = next
      write(`\n${paint('bold', title)}\n${paint('dim', '-'.repeat(title.length))}\n`)
    },
    tellStep: (step) => {
      count += 1
      write(`\n${stepText(step, count)}`)
    },
    addLine: (label, text) => write(`${labelText(label, text)}\n`),
    getCurrentPart: () => title,
  }
}

function stepText({ who, what, means, request, status }: ShownStep, count: number): string {
  const lines = [`${paint('dim', String(count).padStart(MARGIN - 2))}  ${removeControlCharacters(`${who} ${what}`)}.`]
  if (request !== undefined) {
    const answer = status === undefined ? '' : ` ${paint(status < 400 ? 'green' : 'red', String(status))}`
    lines.push(`${INDENT}${paint('bold', `${request.method} ${shortPath(request.url)}`)}${answer}`)
    if (request.sent !== undefined) lines.push(labelText('sent', request.sent))
  }
  lines.push(paint('dim', hangingIndent(INDENT, MARGIN, means)))
  return `${lines.join('\n')}\n`
}

function labelText(label: string, text: string): string {
  const head = `${INDENT}${label}: `
  return hangingIndent(head, head.length, text)
}

/** Shortens long random parts of a path. */
function shortPath(url: string): string {
  return new URL(url).pathname.replace(/[\w-]{20,}/g, (id) => (/^[a-z-]+$/.test(id) ? id : `${id.slice(0, 6)}…`))
}
