/** Says of a section of docs/performance.md on which machine, with which Node and from which commit it was measured. */
import type { MeasuredPart, PublishedResults } from '../bench/report.ts'

/** The parts of the results that a section shows, each with its name in the sentence. */
export type ShownParts = Readonly<Record<string, string>>

/** Returns one line about all parts that were measured, which may be of several machines and versions of Node. */
export function circumstancesText(results: PublishedResults, parts: ShownParts): string {
  const measuredParts = Object.entries(parts).flatMap(([name, label]) => {
    const now = results[name]?.now
    return now === undefined ? [] : [{ label, machine: machineText(now), run: runText(now) }]
  })
  const machines = [...groupBy(measuredParts, ({ machine }) => machine)]
  const texts = machines.map(([machine, group]) => {
    const runs = [...groupBy(group, ({ run }) => run)]
    if (machines.length === 1 && runs.length === 1) return `${machine}, ${runs[0]?.[0] ?? ''}`
    return `${machine}: ${runs.map(([run, of]) => `${listText(of.map(({ label }) => label))} ${run}`).join(', ')}`
  })
  return texts.length === 0 ? '' : `Measured on ${texts.join('; on ')}.`
}

/** Tests whether figures of two runs can be compared: one processor, as many cores and as much memory, and one Node. */
export function isOnSameMachine(one: MeasuredPart, other: MeasuredPart): boolean {
  return machineText(one) === machineText(other)
}

function machineText({ machine, node }: MeasuredPart): string {
  const processor = machine.processor.replaceAll(/\((?:R|TM)\)/g, '')
  const gigabytes = (machine.memoryMegabytes / 1000).toFixed(0)
  return `${processor} (${machine.cores} cores, ${gigabytes} GB) with Node ${node.replace(/^v/, '')}`
}

function runText({ at, commit, changedSinceCommit }: MeasuredPart): string {
  return `on ${at.slice(0, 10)} at commit \`${commit}\`${changedSinceCommit ? ' with changes' : ''}`
}

function groupBy<T>(values: readonly T[], keyOf: (value: T) => string): ReadonlyMap<string, readonly T[]> {
  const keys = [...new Set(values.map(keyOf))]
  return new Map(keys.map((key) => [key, values.filter((value) => keyOf(value) === key)]))
}

function listText(labels: readonly string[]): string {
  return new Intl.ListFormat('en-GB').format(labels)
}
