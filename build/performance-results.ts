/** The results of `npm run bench -- performance` as docs/performance.md reads them: by question, then by database. */
import { readFileSync } from 'node:fs'
import type { Published } from '../bench/report.ts'
import type { ScaleResult } from '../bench/scale.ts'
import type { SoakResult } from '../bench/soak.ts'
import type { KindResult } from '../bench/speed.ts'
import type { StatementsResult } from '../bench/statements.ts'
import type { WorkersResult } from '../bench/workers.ts'

type Named<T> = Readonly<Record<string, T>>

interface Cost {
  readonly processorMs: number
  readonly wallMs: number
}

/** The results of each question; a question that was not asked has none. */
interface Results {
  readonly flows: Named<KindResult>
  readonly scale: Named<ScaleResult>
  readonly parts: Named<Named<number>>
  readonly workers: Named<WorkersResult>
  readonly statements: StatementsResult
  readonly callbacks: {
    readonly lag: { readonly seconds: number }
    readonly cost: { readonly shares: readonly number[] }
  }
  readonly status: { readonly rows: readonly (readonly string[])[] }
  readonly 'status-lists': Named<{ readonly costs: Named<Cost>; readonly exports: Named<Cost> }>
  readonly memory: Named<{
    readonly peak?: number
    readonly samples: readonly { readonly flows: number; readonly megabytes: number }[]
  }>
  readonly startup: Named<{ readonly median: number }>
  readonly soak: Named<SoakResult>
}

export const NOT_MEASURED = 'Not measured yet: `npm run bench -- performance` measures it.'

export function readPublished(file: string): Published {
  return JSON.parse(readFileSync(file, 'utf8')) as Published
}

export function resultsOf<Question extends keyof Results>(
  published: Published,
  question: Question,
  database: 'sqlite' | 'postgresql' = 'sqlite',
): Results[Question] | undefined {
  return published[`${question}, ${database}`]?.now.results as Results[Question] | undefined
}
