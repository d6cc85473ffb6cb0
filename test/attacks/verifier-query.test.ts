/** The mistakes of a query that the application is told: each mistake once, where it is. */
import { afterAll, beforeAll, expect, it } from 'vitest'
import { type Services, startServices, VERIFIER_URL } from '../support/services.ts'
import { call, dcqlQuery } from '../support/wire.ts'

let services: Services
beforeAll(async () => {
  services = await startServices()
})
afterAll(() => services.close())

it.each([
  ['a number that is not an index', ['credentialSubject', 1.5]],
  ['an object', ['credentialSubject', {}]],
  ['a truth', ['credentialSubject', true]],
])('a claim that is asked for twice by a path with %s is not a repetition', async (_, path) => {
  const [card] = dcqlQuery.credentials
  const query = { credentials: [{ ...card, claims: [{ path }, { path }] }] }
  const response = await call(services, `${VERIFIER_URL}/dcql-query/create`, query)
  const { error_description: description } = (await response.json()) as { error_description: string }
  expect(response.status).toBe(400)
  expect(description).toMatch(/claims\[0\]\.path\[1\].*claims\[1\]\.path\[1\]/)
  expect(description).not.toContain('same claim')
})
