import { expect, it } from 'vitest'
import type { CredentialQuery } from '../protocol/dcql.ts'
import { answerQuery } from './answer.ts'
import type { StoredCredential } from './stored-credential.ts'

const stored = {
  id: '1',
  name: 'Card',
  format: 'vc+sd-jwt',
  types: ['VerifiableCredential', 'Card'],
  claims: { credentialSubject: {} },
} as unknown as StoredCredential

it.each<[string, object, RegExp]>([
  [
    'a format it does not know',
    { format: 'paper' },
    /^it wants the format paper; this wallet holds .*vc\+sd-jwt/,
  ],
  [
    'the meta of another format',
    { meta: { vct_values: ['Card'] } },
    /^query\.meta\.vct_values: does not go with this format/,
  ],
  ['types that are none', { meta: { type_values: 'Card' } }, /^query\.meta\.type_values: must be a non-empty array$/],
  ['certain authorities', { trusted_authorities: [{ type: 'aki', values: ['x'] }] }, /trusted_authorities/],
])('a wallet does not answer a query for %s', (_, change, problem) => {
  const query = { id: 'card', format: 'vc+sd-jwt', meta: {}, ...change } as CredentialQuery
  expect(answerQuery(query, [stored], new Date())).toEqual({
    query,
    problem: expect.stringMatching(problem) as string,
  })
})
