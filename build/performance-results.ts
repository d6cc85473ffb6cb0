/** The results of `npm run bench -- performance` as docs/performance.md reads them: by question, then by database. */
import { readFileSync } from 'node:fs'
import type { PublishedResults } from '../bench/report.ts'
import type { RequestCosts } from '../bench/requests.ts'
import type { ScaleResult } from '../bench/scale.ts'
import type { SoakResult } from '../bench/soak.ts'
import type { KindResult } from '../bench/speed.ts'
import type { StatementsResult } from '../bench/statements.ts'
import type { WorkersResult } from '../bench/workers.ts'

type NamedResult<T> = Readonly<Record<string, T>>

interface Cost {
  readonly processorMs: number
  readonly wallMs: number
}

/** The results of each question; a question that was not asked has none. */
interface Results {
  readonly flows: NamedResult<KindResult>
  readonly scale: NamedResult<ScaleResult>
  readonly requests: NamedResult<RequestCosts>
  readonly parts: NamedResult<NamedResult<number>>
  readonly workers: NamedResult<WorkersResult>
  readonly statements: StatementsResult
  readonly callbacks: {
    readonly lag: { readonly seconds: number }
    readonly cost: { readonly shares: readonly number[] }
  }
  readonly status: { readonly rows: readonly (readonly string[])[] }
  readonly 'status-lists': NamedResult<{ readonly costs: NamedResult<Cost>; readonly exports: NamedResult<Cost> }>
  readonly memory: NamedResult<{
    readonly peak?: number
    readonly samples: readonly { readonly flows: number; readonly megabytes: number }[]
  }>
  readonly startup: NamedResult<{ readonly median: number }>
  readonly soak: NamedResult<SoakResult>
}

export const NOT_MEASURED = 'Not measured yet: `npm run bench -- performance` measures it.'

export function readPublished(file: string): PublishedResults {
  return JSON.parse(readFileSync(file, 'utf8')) as PublishedResults
}

export function resultsOf<Question extends keyof Results>(
  results: PublishedResults,
  question: Question,
  database: 'sqlite' | 'postgresql' = 'sqlite',
): Results[Question] | undefined {
  return results[`${question}, ${database}`]?.now.results as Results[Question] | undefined
}
