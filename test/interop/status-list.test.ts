/** Our status lists, and what credentials say of them, as the npm package `@sd-jwt/jwt-status-list` reads them. */
import { inflateSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { setStatus } from '../../src/codec/status-list.ts'
import { type Services, startServices } from '../support/services.ts'
import { act, issueWithStatus } from '../support/status.ts'

interface StatusList {
  readonly statusList: readonly number[]
  getStatus(index: number): number
  compressStatusList(): string
}

// Named at run time, because the packages are installed for these tests only.
const name: string = '@sd-jwt/jwt-status-list'
const { StatusList, getListFromStatusListJWT, getStatusListFromJWT } = (await import(name)) as {
  readonly StatusList: new (entries: number[], bits: number) => StatusList
  readonly getListFromStatusListJWT: (jwt: string) => StatusList
  readonly getStatusListFromJWT: (jwt: string) => { readonly idx: number; readonly uri: string }
}

describe('the package @sd-jwt/jwt-status-list', () => {
  let services: Services
  beforeAll(async () => {
    services = await startServices()
  })
  afterAll(() => services.close())

  it('finds the entry in our credential, and what has become of it in our list', async () => {
    const { credential, sessionId } = await issueWithStatus(services)
    const { idx, uri } = getStatusListFromJWT(credential.split('~')[0] ?? '')
    const read = async () => getListFromStatusListJWT(await (await services.fetch(uri)).text())
    expect((await read()).statusList).toHaveLength(131_072)
    const seen = [(await read()).getStatus(idx)]
    for (const name of ['suspend', 'reinstate', 'revoke']) {
      await act(services, name, sessionId)
      seen.push((await read()).getStatus(idx))
    }
    expect(seen).toEqual([0, 2, 0, 1])
    expect((await read()).statusList.reduce((sum, each) => sum + each, 0)).toBe(1)
  })

  it('writes the same bits for the same entries', () => {
    const entries = Array.from({ length: 1024 }, (_, index) => (index * 7) % 3)
    const bytes = Buffer.alloc(256)
    for (const [index, status] of entries.entries()) setStatus(bytes, 2, index, status)
    const theirs = inflateSync(Buffer.from(new StatusList(entries, 2).compressStatusList(), 'base64url'))
    expect(theirs.equals(bytes)).toBe(true)
  })
})
