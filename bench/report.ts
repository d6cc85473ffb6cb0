/**
 * The report that people read, and the figures that are kept: one JSON file per day and commit, with the machine of the
 * figures.
 */
import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { cpus, loadavg, release, totalmem } from 'node:os'
import { dirname, join, relative } from 'node:path'
import { startStolenTime } from './stolen.ts'

const RESULTS = 'bench/results'
const readStolenTime = startStolenTime()

export interface Target {
  readonly target: string
  readonly reached: boolean
  readonly figure: string
  /** The figure as a number, and the least and the most of the rounds that it is of, to compare runs by. */
  readonly value?: number
  readonly least?: number
  readonly most?: number
}

/** The answer to one question. */
export interface Verdict {
  readonly section: string
  readonly options: object
  readonly results: object
  readonly targets: readonly Target[]
}

/** Prints progress, apart from the result. */
export function note(text: string): void {
  process.stderr.write(`  ${text}\n`)
}

export function show(text: string): void {
  process.stdout.write(`\n${text}\n`)
}

/** Writes a table with the first column to the left and the others to the right. */
export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const widths = head.map((name, column) => Math.max(name.length, ...rows.map((row) => row[column]?.length ?? 0)))
  const line = (cells: readonly string[]) =>
    cells
      .map((cell, column) => (column === 0 ? cell.padEnd(widths[column] ?? 0) : cell.padStart(widths[column] ?? 0)))
      .join('  ')
  return [line(head), widths.map((width) => '-'.repeat(width)).join('  '), ...rows.map(line)].join('\n')
}

/** Returns the value at the nearest rank; NaN where there are no values. */
export function percentile(values: readonly number[], percent: number): number {
  const sortedValues = [...values].sort((a, b) => a - b)
  return sortedValues[Math.max(0, Math.ceil((percent / 100) * sortedValues.length) - 1)] ?? Number.NaN
}

export function showTargets(verdicts: readonly Verdict[]): void {
  const rows = verdicts.flatMap(({ targets }) =>
    targets.map(({ target, figure, reached }) => [target, figure, reached ? 'reached' : 'MISSED']),
  )
  if (rows.length > 0) show(table(['target', 'measured', ''], rows))
}

/** The state of the source, and the machine that figures are of. */
export interface Circumstances {
  readonly at: string
  readonly commit: string
  /** The digest of the committed `src`, which tells whether two runs are of the same source. */
  readonly source: string
  readonly changedSinceCommit: boolean
  readonly node: string
  readonly machine: {
    readonly processor: string
    readonly cores: number
    readonly memoryMegabytes: number
    readonly system: string
    readonly loadAverage: number | undefined
    readonly takenByOtherMachines: number | undefined
  }
}

/** Adds the verdicts to bench/results/<date>-<commit>.json, and returns the path of that file. */
export function keepResults(root: string, verdicts: readonly Verdict[]): string {
  const run = { ...circumstances(root), verdicts }
  const file = join(root, RESULTS, `${run.at.slice(0, 10)}-${run.commit}.json`)
  const earlier = existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as { runs: object[] }).runs : []
  write(file, { runs: [...earlier, run] })
  return relative(root, file)
}

/** A part of docs/performance.md: the measured answer to one question with one database. */
export interface MeasuredPart extends Circumstances, Omit<Verdict, 'section'> {}

/** The parts by question and database, each with what the run before measured. */
export type PublishedResults = Readonly<Record<string, { readonly now: MeasuredPart; readonly before?: MeasuredPart }>>

/** Writes a part into the file of docs/performance.md, in which the part of before becomes the run before. */
export function publishResults(root: string, database: string, { section, ...verdict }: Verdict): string {
  const file = join(root, RESULTS, 'performance.json')
  const earlier = existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as PublishedResults) : {}
  const name = `${section}, ${database}`
  const before = earlier[name]?.now
  write(file, { ...earlier, [name]: { now: { ...circumstances(root), ...verdict }, ...(before ? { before } : {}) } })
  return relative(root, file)
}

function circumstances(root: string): Circumstances {
  return {
    at: new Date().toISOString(),
    commit: git(root, 'rev-parse', '--short=10', 'HEAD') ?? 'unknown',
    source: git(root, 'rev-parse', '--short=10', 'HEAD:src') ?? 'unknown',
    changedSinceCommit: git(root, 'status', '--porcelain', '--', 'src') !== '',
    node: process.version,
    machine: machine(),
  }
}

function write(file: string, value: object): void {
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, `${JSON.stringify(value, roundFigure, 2)}\n`)
}

function machine(): Circumstances['machine'] {
  const [first] = cpus()
  return {
    processor: first?.model ?? 'unknown',
    cores: cpus().length,
    memoryMegabytes: Math.round(totalmem() / 1e6),
    system: `${process.platform} ${release()} ${process.arch}`,
    loadAverage: loadavg()[0],
    takenByOtherMachines: readStolenTime(),
  }
}

function roundFigure(_: string, value: unknown): unknown {
  return typeof value === 'number' ? Number(value.toPrecision(5)) : value
}

/** Returns the output of git, or undefined where there is no git, or no repository. */
function git(root: string, ...args: string[]): string | undefined {
  try {
    return execFileSync('git', args, { cwd: root, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim()
  } catch {
    return undefined
  }
}
