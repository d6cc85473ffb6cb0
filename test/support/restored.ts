/**
 * Credentials that a service issues before and after a backup is put back, and the entries of status lists that they
 * have.
 */
import { expect } from 'vitest'
import { ISSUER_URL, type Services } from './services.ts'
import { act, copyOf, type IssuedCredential, issueWithStatus, type Reference, readList } from './status.ts'

/** The copies of a credential that a session gives out. */
const COPIES = 10

export interface InStatusLists {
  /** Issues as many credentials, and gives the first. */
  issue(count: number): Promise<IssuedCredential>
  /** The addresses of all lists that entries were given from, in the order of their first entry. */
  listIds(): readonly string[]
  expectNoneTwice(): void
  /** Expects that the list of a credential is served, and that the credential can be revoked in it. */
  expectServed(credential: IssuedCredential): Promise<void>
}

/** Issues by a service that runs; `url` says where it listens at the moment. */
export function inStatusLists(url: () => string): InStatusLists {
  const fetchThere = (address: string, init?: RequestInit) => fetch(address.replace(ISSUER_URL, url()), init)
  return issuedBy(() => ({ fetch: fetchThere, clock: { now: new Date() } }) as unknown as Services)
}

/** Issues by services in this process. */
export function issuedBy(services: () => Services): InStatusLists {
  const references: Reference[] = []
  return {
    issue: async (count) => {
      const credentials: IssuedCredential[] = []
      while (credentials.length < count) {
        const of = credentials.at(-1)
        credentials.push(
          of === undefined || credentials.length % COPIES === 0 ? await issueWithStatus(services()) : await copyOf(of),
        )
      }
      references.push(...credentials.map(({ status }) => status))
      return credentials[0] as IssuedCredential
    },
    listIds: () => [...new Set(references.map(({ uri }) => uri))],
    expectNoneTwice: () => {
      const places = references.map(({ uri, idx }) => `${uri} ${idx}`)
      expect(places.filter((place, index) => places.indexOf(place) !== index)).toEqual([])
    },
    expectServed: async ({ sessionId, status }) => {
      expect((await readList(services(), status.uri))[status.idx]).toBe(0)
      expect(await act(services(), 'revoke', sessionId)).toMatchObject([200, {}])
      expect((await readList(services(), status.uri))[status.idx]).toBe(1)
    },
  }
}
