/** The aims of docs/performance.md: whether each is reached, and how far the run before was from this one. */
import type { MeasuredPart, PublishedResults, Target } from '../bench/report.ts'
import { tableText } from './docs-text.ts'
import { isOnSameMachine } from './performance-circumstances.ts'

export function aimsText(results: PublishedResults): string {
  const aims = Object.values(results).flatMap(({ now, before }) =>
    now.targets.map((aim) => ({ aim, before: before?.targets.find(({ target }) => target === aim.target) })),
  )
  const missedCount = aims.filter(({ aim }) => !aim.reached).length
  return `${aims.length - missedCount} of ${aims.length} aims are reached. In parentheses are the lowest and the highest round: two runs agree where these ranges
overlap. Processor, Node, date and commit are those of the section that has the figure.

${tableText(
  ['aim', 'measured', '', 'the run before', 'differs by', 'ranges overlap'],
  aims.map(({ aim, before }) => [
    aim.target,
    aim.figure,
    aim.reached ? 'reached' : '**not reached**',
    before?.figure ?? '',
    ...differenceOf(aim, before),
  ]),
)}

${agreementText(results)}`
}

/** Returns by how much two figures differ, and whether the ranges of their rounds overlap. */
function differenceOf({ value, least, most }: Target, before: Target | undefined): readonly [string, string] {
  if (value === undefined || before?.value === undefined) return ['', '']
  const percent = (value / before.value - 1) * 100
  const difference = `${percent > 0 ? '+' : ''}${percent.toFixed(1)} %`
  if (least === undefined || most === undefined) return [difference, '']
  const { least: leastBefore = before.value, most: mostBefore = before.value } = before
  return [difference, leastBefore <= most && mostBefore >= least ? 'yes' : 'no']
}

/** Says for how many figures the two runs agree, and which parts are of another source, or cannot be compared. */
function agreementText(results: PublishedResults): string {
  const pairs = Object.entries(results).flatMap(([name, { now, before }]) => (before ? [{ name, now, before }] : []))
  if (pairs.length === 0) return 'There is no run before this one yet.'
  const answers = pairs
    .filter(({ now, before }) => isOnSameMachine(now, before))
    .flatMap(({ now, before }) =>
      now.targets.map(
        (aim) =>
          differenceOf(
            aim,
            before.targets.find(({ target }) => target === aim.target),
          )[1],
      ),
    )
  const [agreeing, comparisons] = [answers.filter((each) => each === 'yes'), answers.filter((each) => each !== '')]
  const elsewhere = pairs.filter(({ now, before }) => !isOnSameMachine(now, before))
  const others = pairs.filter(({ now, before }) => !isOfSameSource(now, before))
  return [
    `The two runs agree in ${agreeing.length} of ${comparisons.length} figures.`,
    ...(elsewhere.length === 0
      ? []
      : [`Not counted are those of which the run before had another processor or Node: ${namesText(elsewhere)}.`]),
    others.length === 0
      ? 'Both runs are of the same source.'
      : `The run before is of another source: ${namesText(others)}.`,
  ].join(' ')
}

function namesText(parts: readonly { readonly name: string }[]): string {
  return parts.map(({ name }) => name).join('; ')
}

function isOfSameSource(now: MeasuredPart, before: MeasuredPart): boolean {
  return now.source === before.source && !now.changedSinceCommit && !before.changedSinceCommit
}
