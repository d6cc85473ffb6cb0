/** Writes into each alert of deploy/prometheus-rules.yaml what to do about it, as docs/how-to/production.md says. */
import { posix } from 'node:path'

/** A row of the page's table: the name of the alert, when the alert fires, and what to do. */
const ROW = /^\| `(Vouchsafe\w+)` \|[^|]*\| (.*) \|$/gm
/** An alert up to its summary, which has one line, and the description that follows, where there is one. */
const ALERT = /( *- alert: (\w+)\n(?:(?! *- alert: ).*\n)*?( *)summary: .*\n)(?: *description: .*\n)?/g

/** Returns the rules with a description in each alert, so that whoever is woken reads there what to do. */
export function describeAlerts(rules: string, page: string): string {
  const toDo = new Map([...page.matchAll(ROW)].map(([, name = '', cell = '']) => [name, plainText(cell)]))
  return rules.replace(ALERT, (_, alert: string, name: string, indent: string) => {
    const text = toDo.get(name)
    if (text === undefined) throw new Error(`docs/how-to/production.md does not say what to do at ${name}`)
    return `${alert}${indent}description: ${JSON.stringify(text)}\n`
  })
}

/** Returns the words of a cell, in which a link is the path of its page behind its words. */
function plainText(cell: string): string {
  const words = cell.replace(/\[([^\]]*)\]\(([^)]*)\)/g, (_, text: string, target: string) => {
    return `${text} (${posix.join('docs/how-to', target)})`
  })
  return words.charAt(0).toUpperCase() + words.slice(1)
}
