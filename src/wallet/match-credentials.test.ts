import { expect, it } from 'vitest'
import type { CredentialQuery } from '../protocol/dcql.ts'
import { holderClaims, sortClaims } from './claim-text.ts'
import { type MatchedCredential, matchCredentials } from './match-credentials.ts'
import type { StoredCredential } from './stored-credential.ts'

const stored = {
  id: '1',
  name: 'Card',
  format: 'vc+sd-jwt',
  types: ['VerifiableCredential', 'Card'],
  claims: { credentialSubject: {} },
  disclosable: [],
  chain: [],
} as unknown as StoredCredential

it.each<[string, object, RegExp]>([
  ['a format it does not know', { format: 'paper' }, /^it wants the format paper; this wallet holds .*vc\+sd-jwt/],
  [
    'the meta of another format',
    { meta: { vct_values: ['Card'] } },
    /^query\.meta\.vct_values: does not go with this format/,
  ],
  ['types that are none', { meta: { type_values: 'Card' } }, /^query\.meta\.type_values: must be a non-empty array$/],
  [
    'authorities of a list that it cannot look up',
    { trusted_authorities: [{ type: 'etsi_tl', values: ['https://lotl.example.com'] }] },
    /^it wants credentials of authorities that it names by etsi_tl, and this wallet knows authorities by aki only$/,
  ],
  [
    'other authorities than those of its credential',
    {
      trusted_authorities: [
        { type: 'etsi_tl', values: ['https://lotl.example.com'] },
        { type: 'aki', values: ['x'] },
      ],
    },
    /^Card \(1\): it was not issued under an authority that was asked for \(trusted_authorities\)$/,
  ],
  [
    'a claim that no credential has',
    { claims: [{ path: ['iss'] }] },
    /^query\.claims\[0\]\.path\[0\]: is not a member of a W3C credential; ask for issuer$/,
  ],
])('a wallet does not answer a query for %s', (_, change, problem) => {
  const query = { id: 'card', format: 'vc+sd-jwt', meta: {}, ...change } as CredentialQuery
  expect(matchCredentials(query, [stored], new Date())).toEqual([
    { query, problem: expect.stringMatching(problem) as string },
  ])
})

it('a wallet takes the claim set that a credential can have, beside one that none can', () => {
  const claims = [
    { id: 'never', path: ['iss'] },
    { id: 'there', path: ['credentialSubject'] },
  ]
  const query = { id: 'card', format: 'vc+sd-jwt', meta: {}, claims, claim_sets: [['never'], ['there']] }
  expect(matchCredentials(query, [stored], new Date())).toMatchObject([{ credential: { id: '1' } }])
})

it('a wallet answers with one credential, or with all that fit and no more than a person looks over', () => {
  const wallet = Array.from({ length: 30 }, (_, i) => ({ ...stored, id: String(i) }))
  const query = { id: 'card', format: 'vc+sd-jwt', meta: {} }
  const ids = (multiple: boolean, of = wallet) =>
    matchCredentials({ ...query, multiple }, of, new Date()).map(
      (answer) => 'credential' in answer && answer.credential.id,
    )
  expect(ids(false)).toEqual(['0'])
  expect(ids(true, wallet.slice(0, 3))).toEqual(['0', '1', '2'])
  expect(ids(true)).toEqual(wallet.slice(0, 20).map(({ id }) => id))
  expect(ids(true, [])).toEqual([false])
})

it('a wallet looks at the claims of a credential once, however many queries ask for it', () => {
  const names = Array.from({ length: 2000 }, (_, index) => `claim${index}`)
  const large = {
    ...stored,
    format: 'dc+sd-jwt',
    types: ['urn:card'],
    claims: Object.fromEntries(names.map((name) => [name, name])),
    claimNames: names.slice(0, 400).map((name) => ({ path: [name], name: `Claim ${name}` })),
    securingMembers: [],
    disclosable: names.map((name) => [name]),
  } as unknown as StoredCredential
  const start = process.cpuUsage()
  for (let index = 0; index < 50; index++) {
    const query = { id: `q${index}`, format: 'dc+sd-jwt', meta: {} } as CredentialQuery
    const [answer] = matchCredentials(query, [large], new Date())
    const hidden = (answer as MatchedCredential).hidden.map((position) => ({ position }))
    expect(sortClaims(large, hidden).at(-1)?.position).toEqual(['claim1999'])
  }
  // The limit leaves room for a slow machine.
  expect(process.cpuUsage(start).user / 1e6).toBeLessThan(3)
})

it.each([
  ['dc+sd-jwt', ['issuer', 'name', 'type']],
  ['vc+sd-jwt', ['name']],
])('a credential of the format %s shows the claims %j as those of its holder', (format, names) => {
  const claims = { type: 'Resident', issuer: 'Town', name: 'Ada' }
  const credential = { ...stored, format, claims, claimNames: [], securingMembers: [] } as unknown as StoredCredential
  expect(holderClaims(credential).map(({ position: [name] }) => name)).toEqual(names)
})
