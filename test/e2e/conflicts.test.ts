/**
 * Rows that others change each time that a request is about to: the request is given up, and says when to come again.
 */
import { describe, expect, it, onTestFinished } from 'vitest'
import { type IssuerCollections, issuerMigrations } from '../../src/issuer/collections.ts'
import type { TokenResponse } from '../../src/protocol/oauth.ts'
import { MAX_ATTEMPTS } from '../../src/store/retry.ts'
import type { Change, Store } from '../../src/store/store.ts'
import { startedSession, TOKEN_ENDPOINT, tokenOf } from '../support/issuance.ts'
import { startServices } from '../support/services.ts'
import { openTestStore } from '../support/store.ts'
import { postForm } from '../support/wire.ts'

/** Makes a store in which others are first with the session, for as long as `contended.is` says. */
async function contendedStore() {
  const plain = await openTestStore<IssuerCollections>(issuerMigrations)
  const contended = { is: false, times: 0, commits: 0 }
  const isOfSession = (change: Change<IssuerCollections>) => 'update' in change && change.update === 'issuance_session'
  const store: Store<IssuerCollections> = {
    ...plain,
    commit: (changes) => {
      const change = changes.find(isOfSession)
      if (change !== undefined) contended.commits += 1
      const conflict = contended.is ? change : undefined
      if (conflict === undefined) return plain.commit(changes)
      contended.times += 1
      return Promise.resolve(conflict)
    },
  }
  return { store, contended }
}

describe('a request that others overtake again and again', () => {
  it('is answered with 503 and Retry-After, changes nothing, and goes through later', async () => {
    const { store, contended } = await contendedStore()
    const services = await startServices({ issuerStore: store })
    onTestFinished(() => services.close())
    const session = await startedSession(services)
    contended.is = true
    const response = await postForm(services, `${TOKEN_ENDPOINT}/${session.sessionId}`, session.form)
    expect([response.status, response.headers.get('retry-after')]).toEqual([503, '1'])
    expect(await response.json()).toEqual({
      error: 'temporarily_unavailable',
      error_description: 'too many requests change the same at once; try again in a moment',
    })
    expect(contended.times).toBe(MAX_ATTEMPTS)
    expect(services.logLines.join('')).toContain(`changed by others ${MAX_ATTEMPTS} times in a row`)
    contended.is = false
    expect(await tokenOf(session)).toMatch(/\./)
  })
})

describe('many token requests of one session at once', () => {
  const AT_ONCE = 60
  const sendAtOnce = <T>(send: () => Promise<T>) => Promise.all(Array.from({ length: AT_ONCE }, send))

  it('are hardly signed for more often than they are sent, and once where only one can have a token', async () => {
    const { store, contended } = await contendedStore()
    const services = await startServices({ issuerStore: store })
    onTestFinished(() => services.close())
    const session = await startedSession(services, { refresh_seconds: 3600 })
    const path = `${TOKEN_ENDPOINT}/${session.sessionId}`
    const redeemed = await sendAtOnce(() => postForm(services, path, session.form))
    const [first, ...others] = redeemed.filter(({ status }) => status === 200)
    expect([first?.status, others]).toEqual([200, []])
    expect(contended.commits).toBeLessThanOrEqual(3)
    contended.commits = 0
    const tokens = (await first?.json()) as TokenResponse
    const form = { grant_type: 'refresh_token', refresh_token: tokens.refresh_token ?? '' }
    const refreshed = await sendAtOnce(() => postForm(services, path, form))
    expect(refreshed.map(({ status }) => status)).toEqual(Array.from({ length: AT_ONCE }, () => 200))
    expect(contended.commits).toBeLessThanOrEqual(AT_ONCE + 3)
  })
})
