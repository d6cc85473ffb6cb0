/** The aims of docs/performance.md: whether each is reached, and how far the run before was from this one. */
import type { MeasuredPart, PublishedResults, Target } from '../bench/report.ts'
import { tableText } from './docs-text.ts'

export function aimsText(results: PublishedResults): string {
  const aims = Object.values(results).flatMap(({ now, before }) =>
    now.targets.map((aim) => ({ aim, before: before?.targets.find(({ target }) => target === aim.target) })),
  )
  const missedCount = aims.filter(({ aim }) => !aim.reached).length
  return `${aims.length - missedCount} of ${aims.length} aims are reached. A figure in parentheses is the least and the most of the rounds.

${tableText(
  ['aim', 'measured', '', 'the run before', 'differs by', 'within the rounds'],
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

/** Returns by how much two figures differ, and whether the earlier is between the least and the most of the later. */
function differenceOf({ value, least, most }: Target, before: Target | undefined): readonly [string, string] {
  if (value === undefined || before?.value === undefined) return ['', '']
  const percent = (value / before.value - 1) * 100
  const difference = `${percent > 0 ? '+' : ''}${percent.toFixed(1)} %`
  if (least === undefined || most === undefined) return [difference, '']
  return [difference, before.value >= least && before.value <= most ? 'yes' : 'no']
}

/** Says how many figures of the run before are within the rounds of this one, and whether both are of one source. */
function agreementText(results: PublishedResults): string {
  const pairs = Object.values(results).flatMap(({ now, before }) => (before ? [{ now, before }] : []))
  if (pairs.length === 0) return 'There is no run before this one yet.'
  const answers = pairs.flatMap(({ now, before }) =>
    now.targets.map(
      (aim) =>
        differenceOf(
          aim,
          before.targets.find(({ target }) => target === aim.target),
        )[1],
    ),
  )
  const [agreeing, comparisons] = [answers.filter((each) => each === 'yes'), answers.filter((each) => each !== '')]
  const others = Object.entries(results).filter(([, { now, before }]) => before && !isOfSameSource(now, before))
  const sources =
    others.length === 0
      ? 'Both runs are of the same source.'
      : `The run before is of another source: ${others.map(([name]) => name).join('; ')}.`
  return `${agreeing.length} of ${comparisons.length} figures of the run before are within the rounds of this one. ${sources}`
}

function isOfSameSource(now: MeasuredPart, before: MeasuredPart): boolean {
  return now.source === before.source && !now.changedSinceCommit && !before.changedSinceCommit
}
