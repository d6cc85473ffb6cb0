/** Types of SD-JWT VC beside the `vct`: other names of a type, its metadata, and the reuse policy of credentials. */
import { hash } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { readSdJwt } from '../../src/codec/sd-jwt.ts'
import { sdJwtVc } from '../../src/credential/sd-jwt-vc/index.ts'
import { expectRefusal } from '../support/issuance.ts'
import { ISSUER_URL, type Services, startServices } from '../support/services.ts'
import { issueWithStatus } from '../support/status.ts'
import { authorization, call, declare, startIssuance } from '../support/wire.ts'

const GENERAL = 'urn:eudi:pid:1'
const pid = { format: 'dc+sd-jwt', vct: 'urn:eudi:pid:de:1', aka_vcts: [GENERAL] }
const dataset = { credentialSubject: { given_name: 'Ada' } }

let services: Services
beforeAll(async () => {
  services = await startServices()
})
afterAll(() => services.close())

const post = (posted: object) => call(services, `${ISSUER_URL}/credential-configuration/create`, posted)
const refused = async (posted: object, why: RegExp) =>
  expectRefusal(await post(posted), { status: 400, error: 'invalid_request', why })
const metadataOf = async (id: string) => {
  const response = await services.fetch(`${ISSUER_URL}/.well-known/openid-credential-issuer`)
  const { credential_configurations_supported: all } = (await response.json()) as {
    credential_configurations_supported: Record<string, Record<string, unknown>>
  }
  return all[id]
}

describe('a credential of a national type', () => {
  it('names the general type in the clear, and answers queries for either', async () => {
    const { credential } = await issueWithStatus(services, pid, dataset)
    const { jws } = readSdJwt(credential)
    expect(jws.payload).toMatchObject({ vct: pid.vct, aka_vcts: [GENERAL] })
    const evidence = sdJwtVc.read(credential)
    for (const vct of [pid.vct, GENERAL]) expect(sdJwtVc.matchesMeta(evidence, { vct_values: [vct] })).toBe(true)
  })

  it('says nothing of that in the metadata, where wallets know no such member', async () => {
    const id = await declare(services, pid)
    const metadata = await metadataOf(id)
    expect(metadata).toMatchObject({ vct: pid.vct })
    expect(metadata).not.toHaveProperty('aka_vcts')
  })

  it.each([
    [{ ...pid, aka_vcts: [] }, /aka_vcts/],
    [{ ...pid, aka_vcts: [''] }, /aka_vcts/],
    [{ ...pid, aka_vcts: [GENERAL, GENERAL] }, /aka_vcts/],
    [{ ...pid, aka_vcts: [pid.vct] }, /aka_vcts: leave the vct itself out/],
    [{ format: 'mso_mdoc', doctype: 'org.example', aka_vcts: [GENERAL] }, /aka_vcts: goes with a vct only/],
  ])('is refused as %j', (posted, why) => refused(posted, why))
})

describe('type metadata', () => {
  const vct = `${ISSUER_URL}/type-metadata/student-card`
  const typed = {
    format: 'dc+sd-jwt',
    vct,
    type_metadata: { name: 'Student card', display: [{ locale: 'en', name: 'Card' }] },
  }

  it('is served at the vct, with the integrity that the credential states', async () => {
    const { credential } = await issueWithStatus(services, typed, dataset)
    const response = await services.fetch(vct)
    const text = await response.text()
    expect([response.status, JSON.parse(text)]).toEqual([200, { vct, ...typed.type_metadata }])
    expect(response.headers.get('content-type')).toMatch(/^application\/json/)
    expect(response.headers.get('access-control-allow-origin')).toBe('*')
    expect(readSdJwt(credential).jws.payload['vct#integrity']).toBe(`sha256-${hash('sha256', text, 'base64')}`)
    const again = await services.fetch(vct, { headers: { 'if-none-match': response.headers.get('etag') ?? '' } })
    expect(again.status).toBe(304)
  })

  it('stays when its configuration is removed, and cannot be another one later', async () => {
    const id = await declare(services, typed)
    await services.fetch(`${ISSUER_URL}/credential-configuration/remove/${id}`, {
      method: 'POST',
      headers: authorization,
    })
    expect((await services.fetch(vct)).status).toBe(200)
    await refused({ ...typed, type_metadata: { name: 'Other' } }, /another configuration has other metadata/)
    expect((await post(typed)).status).toBe(201)
  })

  it.each([
    ['of a type elsewhere', { vct: 'https://types.example/student-card' }, /type_metadata: set vct to/],
    ['of a type with a path below', { vct: `${ISSUER_URL}/type-metadata/a/b` }, /type_metadata: set vct to/],
    ['of another type than the vct', { type_metadata: { vct: 'urn:other' } }, /type_metadata\.vct/],
    ['of a format without vct', { format: 'mso_mdoc', doctype: 'org.example', vct: undefined }, /goes with a vct only/],
  ])('is refused %s', (_, more, why) => refused({ ...typed, ...more }, why))

  const saying = (claims: unknown, disclosure?: unknown) => ({
    ...typed,
    vct: `${vct}-of-claims`,
    type_metadata: { claims },
    ...(disclosure !== undefined && { selective_disclosure: disclosure }),
  })

  it.each<[claims: unknown, disclosure: unknown, why: RegExp]>([
    ['given_name', undefined, /type_metadata\.claims: it must be an array/],
    [[{ path: [] }], undefined, /type_metadata\.claims\[0\]\.path: /],
    [[{ path: [null], mandatory: true }], undefined, /type_metadata\.claims\[0\]\.path: /],
    [[{ path: ['a'] }, { path: ['a', -1] }], undefined, /type_metadata\.claims\[1\]\.path: /],
    [
      [{ path: ['a', null] }, { path: ['a', 0] }, { path: ['a', null] }],
      undefined,
      /\[2\]\.path: this claim is described already/,
    ],
    [[{ path: ['a'], mandatory: 'yes' }], undefined, /type_metadata\.claims\[0\]\.mandatory: /],
    [
      [{ path: ['a'], sd: 'sometimes' }],
      undefined,
      /type_metadata\.claims\[0\]\.sd: it must be always, allowed or never/,
    ],
    [
      [{ path: ['a'], sd: 'never' }],
      undefined,
      /type_metadata\.claims\[0\]\.sd: selective_disclosure lets holders hide a/,
    ],
    [[{ path: ['a', 'b'], sd: 'never' }], [['a', 'b']], /\[0\]\.sd: selective_disclosure lets holders hide a\.b/],
    [[{ path: ['a', 1], sd: 'never' }], [['a', null]], /\[0\]\.sd: selective_disclosure lets holders hide a\[1\]/],
    [[{ path: ['a', null], sd: 'never' }], [['a', 1]], /\[0\]\.sd: selective_disclosure lets holders hide a\[/],
    [[{ path: ['a'], sd: 'always' }], 'none', /\[0\]\.sd: holders cannot hide a; /],
    [[{ path: ['a'], sd: 'always' }], [['a', 'b']], /\[0\]\.sd: holders cannot hide a; /],
    [[{ path: ['a', null], sd: 'always' }], [['a', 1]], /\[0\]\.sd: holders cannot hide a\[/],
    [[{ path: ['vct'], sd: 'always' }], undefined, /\[0\]\.sd: holders cannot hide vct; /],
    [[{ path: ['nbf'], mandatory: true }], undefined, /\[0\]: neither a dataset nor the issuer gives these .* nbf/],
  ])('is refused with the claims %j where holders may hide %j', (claims, disclosure, why) =>
    refused(saying(claims, disclosure), why),
  )

  it.each<[claims: unknown, disclosure: unknown]>([
    [
      [
        { path: ['a'], sd: 'always', mandatory: true },
        { path: ['b', null], sd: 'always' },
      ],
      'all',
    ],
    [
      [
        { path: ['vct'], sd: 'never', mandatory: true },
        { path: ['exp'], sd: 'never', svg_id: 'end' },
      ],
      'all',
    ],
    [
      [
        { path: ['a'], sd: 'never' },
        { path: ['b'], sd: 'allowed' },
      ],
      'none',
    ],
    [
      [
        { path: ['a', 1], sd: 'always' },
        { path: ['a'], sd: 'never' },
        { path: ['a', 'b'], sd: 'never' },
      ],
      [['a', null]],
    ],
  ])('goes with credentials that are as it says: %j where holders may hide %j', async (claims, disclosure) => {
    const name = `type-${Buffer.from(JSON.stringify(claims)).toString('base64url').slice(0, 60)}`
    const declared = await post({ ...saying(claims, disclosure), vct: `${ISSUER_URL}/type-metadata/${name}` })
    expect([declared.status, await declared.text()]).toEqual([201, expect.any(String)])
  })

  it('is refused with more claims than a session is compared with', async () => {
    const claims = Array.from({ length: 501 }, (_, index) => ({ path: ['a', index], mandatory: true }))
    await refused(saying(claims), /type_metadata\.claims: it must be an array of at most 500 claims/)
  })

  it('has sessions refuse a dataset that lacks what it calls mandatory', async () => {
    const claims = [
      { path: ['given_name'], mandatory: true },
      { path: ['degrees', null, 'title'], mandatory: true },
    ]
    const id = await declare(services, saying([...claims, { path: ['iss'], mandatory: true }]))
    const started = (credential_dataset: object) =>
      call(services, `${ISSUER_URL}/issuance/oid4vci/new-session`, {
        credential_configurations: [id],
        credential_dataset,
      })
    const degrees = [{ title: 'BSc' }]
    expect((await started({ given_name: 'Ada', degrees })).status).toBe(200)
    for (const [lacking, why] of [
      [{ degrees }, /^credential_dataset\.given_name: this claim is mandatory in the type metadata/],
      [{ given_name: 'Ada', degrees: [] }, /^credential_dataset\.degrees.*title: this claim is mandatory/],
      [{ given_name: null, degrees }, /given_name: this claim is mandatory .*, and null says nothing/],
    ] as const) {
      await expectRefusal(await started(lacking), { status: 400, error: 'invalid_request', why })
    }
  })

  it('is not found under a name that nobody declared', async () => {
    const response = await services.fetch(`${ISSUER_URL}/type-metadata/nothing`)
    await expectRefusal(response, { status: 404, error: 'not_found' })
  })
})

describe('a reuse policy', () => {
  const policy = (option: object) => ({
    ...pid,
    batch_size: 10,
    validity_seconds: 86_400,
    credential_metadata: { credential_reuse_policy: { id: 'arf_annex_ii', options: [option] } },
  })
  const renewed = policy({ details: ['once_only'], batch_size: 10, reissue_trigger_unused: 2 })

  it('stands in the metadata as it was posted', async () => {
    const metadata = await metadataOf(await declare(services, renewed))
    expect(metadata).toMatchObject({ credential_metadata: renewed.credential_metadata })
  })

  it('that has wallets ask for new credentials gives sessions a refresh token, for as long as the first are valid', async () => {
    const [id, plain] = [await declare(services, renewed), await declare(services, pid)]
    const untilOf = async (body: object) => {
      const { sessionId } = await startIssuance(services, { credential_dataset: dataset, ...body })
      return (await services.issuerStore.get('issuance_session', sessionId))?.value.refreshSeconds
    }
    expect(await untilOf({ credential_configurations: [id] })).toBe(86_400)
    expect(await untilOf({ credential_configurations: [id], refresh_seconds: 60 })).toBe(60)
    expect(await untilOf({ credential_configurations: [plain] })).toBe(undefined)
    const lasting = (validity_seconds: number) => declare(services, { ...renewed, validity_seconds })
    expect(await untilOf({ credential_configurations: [id, await lasting(172_800), plain] })).toBe(172_800)
    expect(await untilOf({ credential_configurations: [await lasting(31_536_001)] })).toBe(31_536_000)
  })

  it.each([
    [{ details: ['once_only'], batch_size: 11 }, /batch_size: a request gets 10 at most/],
    [{ details: ['rotating-batch'], batch_size: 1 }, /batch_size: a batch that rotates/],
    [{ details: ['once_only'], batch_size: 5, reissue_trigger_unused: 5 }, /reissue_trigger_unused: it must be less/],
    [{ details: ['limited_time'], reissue_trigger_lifetime_left: 86_400 }, /lifetime_left: it must be less/],
    [{ details: ['sometimes'] }, /details/],
    [{ details: [] }, /details/],
  ])('is refused as %j', (option, why) => refused(policy(option), why))

  it('is refused under a name that nobody knows', () =>
    refused(
      { ...pid, credential_metadata: { credential_reuse_policy: { id: 'mine', options: [] } } },
      /credential_reuse_policy/,
    ))
})
