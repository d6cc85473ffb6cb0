import { expect, it } from 'vitest'
import { requireSessionQuery, type VerificationSession } from './session.ts'

it('a query that a session names and the database lacks is our fault, not that of the wallet', async () => {
  const session = { queryId: 'lost' } as VerificationSession
  const loading = requireSessionQuery({ loadQuery: () => Promise.resolve(undefined) }, session)
  await expect(loading).rejects.toThrow(/^the verification query lost of a session is not in the database$/)
  await expect(loading).rejects.not.toHaveProperty('code')
})
