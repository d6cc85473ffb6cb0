/** The aims of docs/performance.md: whether each is reached, and how far the run before was from this one. */
import type { MeasuredPart, PublishedResults, Target } from '../bench/report.ts'
import { tableText } from './docs-text.ts'

export function aimsText(results: PublishedResults): string {
  const aims = Object.values(results).flatMap(({ now, before }) =>
    now.targets.map((aim) => ({ aim, before: before?.targets.find(({ target }) => target === aim.target) })),
  )
  const missedCount = aims.filter(({ aim }) => !aim.reached).length
  return `${aims.length - missedCount} of ${aims.length} aims are reached. In parentheses are the least and the most of the rounds: two runs agree where these
ranges overlap.

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

/** Says for how many figures the two runs agree, and whether both are of one source. */
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
  return `The two runs agree in ${agreeing.length} of ${comparisons.length} figures. ${sources}`
}

function isOfSameSource(now: MeasuredPart, before: MeasuredPart): boolean {
  return now.source === before.source && !now.changedSinceCommit && !before.changedSinceCommit
}
