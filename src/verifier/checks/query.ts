/** Whether the credential is what was asked for. The wallet is not relied on: OpenID4VP 1.0, DCQL evaluated again. */
import type { Evidence } from '../../credential/format.ts'
import { answerClaims } from '../../protocol/dcql-match.ts'
import { type Check, fail, pass } from './check.ts'
import type { PresentationContext } from './presentation.ts'

export const query: readonly Check<Evidence, PresentationContext>[] = [
  {
    id: 'query.format',
    asks: 'Is the credential of the format that was asked for?',
    spec: 'OpenID4VP 1.0, Credential Query (format)',
    level: 'MUST',
    run: ({ formats }, { query: asked }) =>
      formats.includes(asked.format) ? pass() : fail(`the type header is not that of ${asked.format}`),
  },
  {
    id: 'query.type',
    asks: 'Is the credential of a type that was asked for?',
    spec: 'OpenID4VP 1.0, Parameters in the meta parameter',
    level: 'MUST',
    run(evidence, { query: asked, format }) {
      return format.matchesMeta(evidence, asked.meta)
        ? pass()
        : fail('the credential is of none of the types that meta asks for')
    },
  },
  {
    id: 'query.claims',
    asks: 'Are the claims there that were asked for?',
    spec: 'OpenID4VP 1.0, Selecting Claims; Claims Path Pointer',
    level: 'MUST',
    needs: ['disclosures.valid'],
    run({ claims }, { query: asked }) {
      const { missing } = answerClaims(asked, claims)
      return missing === undefined ? pass() : fail(missing)
    },
  },
  {
    id: 'query.values',
    asks: 'Do the claims have the values that were asked for?',
    spec: 'OpenID4VP 1.0, Claims Query (values)',
    level: 'MUST',
    needs: ['query.claims'],
    run({ claims }, { query: asked }) {
      const { mismatch } = answerClaims(asked, claims)
      return mismatch === undefined ? pass() : fail(mismatch)
    },
  },
]
