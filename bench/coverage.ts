/**
 * The files and functions of src/ that a piece of work runs through, by V8's precise coverage. The process runs one
 * bundle, in which the bundler has a comment with the path before the text of each file.
 */
import { readFileSync } from 'node:fs'
import { type Profiler, Session } from 'node:inspector/promises'
import { fileURLToPath } from 'node:url'

export interface Trace {
  /** Paths from src/ on, in the order of the alphabet. */
  readonly files: readonly string[]
  readonly namedFunctions: number
  /** The number of calls of named functions. */
  readonly calls: number
}

interface Section {
  readonly file: string
  readonly start: number
}

const bundle = fileURLToPath(import.meta.url)

/** Gives the function that traces one piece of work after the other. */
export async function startCoverage(): Promise<(work: () => Promise<unknown>) => Promise<Trace>> {
  const sections = sectionsOf(readFileSync(bundle, 'utf8'))
  const session = new Session()
  session.connect()
  await session.post('Profiler.enable')
  await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false })
  return async (work) => {
    await session.post('Profiler.takePreciseCoverage')
    await work()
    const { result } = await session.post('Profiler.takePreciseCoverage')
    return traceOf(
      result.find(({ url }) => url.startsWith('file:') && fileURLToPath(url) === bundle),
      sections,
    )
  }
}

function sectionsOf(text: string): readonly Section[] {
  return [...text.matchAll(/^\/\/ (\S+\.(?:ts|js))$/gm)].map(({ 1: file = '', index }) => ({ file, start: index }))
}

function traceOf(script: Profiler.ScriptCoverage | undefined, sections: readonly Section[]): Trace {
  const ran = (script?.functions ?? []).flatMap(({ functionName: name, ranges: [range] }) => {
    const section = sections.findLast(({ start }) => range !== undefined && start <= range.startOffset)
    const isOfSource = section?.file.startsWith('src/') === true && range !== undefined && range.count > 0
    return isOfSource ? [{ name, file: section.file.slice('src/'.length), count: range.count }] : []
  })
  const namedFunctions = ran.filter(({ name }) => name !== '')
  return {
    files: [...new Set(ran.map(({ file }) => file))].sort(),
    namedFunctions: namedFunctions.length,
    calls: namedFunctions.reduce((sum, { count }) => sum + count, 0),
  }
}
