import { generateKeyPair, randomBytes } from 'node:crypto'
import { promisify } from 'node:util'
import { beforeAll, describe, expect, it } from 'vitest'
import { toBase64url } from '../codec/base64url.ts'
import { digestOf } from '../codec/digest.ts'
import type { JsonObject } from '../codec/json.ts'
import { writeJws } from '../codec/jws.ts'
import { concealClaims, readSdJwt } from '../codec/sd-jwt.ts'
import { createSigner } from '../keys/file-signer.ts'
import type { Signer } from '../keys/signer.ts'
import type { HolderEvidence } from './format.ts'
import { keyBindingOf, revealSdJwt } from './sd-jwt.ts'

let signer: Signer
let stranger: Signer
beforeAll(async () => {
  const newSigner = async () =>
    createSigner((await promisify(generateKeyPair)('ec', { namedCurve: 'P-256' })).privateKey, [])
  signer = await newSigner()
  stranger = await newSigner()
})

const jwt = (payload: JsonObject, typ = 'dc+sd-jwt') =>
  writeJws({ typ, alg: 'ES256' }, payload, (data) => signer.sign(data))

describe('a key binding', () => {
  const transaction = toBase64url('{"type":"payment","credential_ids":["card"]}')
  const bindingOf = async (payload: JsonObject, typ = 'kb+jwt') => {
    const bound = `${await jwt({ name: 'Ada' })}~`
    const sd = readSdJwt(`${bound}${await jwt({ sd_hash: digestOf(bound), ...payload }, typ)}`)
    return keyBindingOf(sd) as HolderEvidence
  }

  it('is not there where the text ends in a tilde', async () => {
    expect(keyBindingOf(readSdJwt(`${await jwt({})}~`))).toBe(undefined)
  })

  it('says for what and for whom it was made, when, and until when', async () => {
    const binding = await bindingOf({ nonce: 'n', aud: 'a', iat: 1, nbf: 2, exp: 3 })
    expect(binding).toMatchObject({
      ...{ problem: undefined, nonce: 'n', audience: 'a', presentedAt: new Date(1000), coversPresentation: true },
      validity: {
        notBefore: [{ member: 'nbf', at: new Date(2000) }],
        notAfter: [{ member: 'exp', at: new Date(3000) }],
      },
    })
    expect(binding.signatureProblem(signer.jwk, {} as never)).toBe(undefined)
    expect(binding.signatureProblem(stranger.jwk, {} as never)).toMatch(/^another key made it/)
  })

  it('has to say when it was made, and need not say anything else', async () => {
    const { presentedAt, ...rest } = await bindingOf({})
    expect(presentedAt).toEqual(new Date(Number.NaN))
    expect(rest).toMatchObject({
      ...{ nonce: undefined, audience: undefined, validity: { notBefore: [], notAfter: [] } },
    })
  })

  it('has no end where its end is null, as the library ssi for wallets writes it', async () => {
    const binding = await bindingOf({ iat: 1, nbf: null, exp: null })
    expect(binding.validity).toEqual({ notBefore: [], notAfter: [] })
  })

  it.each(['JWT', 'dc+sd-jwt', ''])('is none when its type is %j', async (typ) => {
    expect((await bindingOf({}, typ)).problem).toMatch(/not kb\+jwt/)
  })

  it('covers what it was made for, and nothing else', async () => {
    expect((await bindingOf({ sd_hash: digestOf('other~') })).coversPresentation).toBe(false)
  })

  it('approves the transactions whose hashes it has', async () => {
    const binding = await bindingOf({ transaction_data_hashes: [digestOf(transaction)] })
    expect(binding.approvalProblem([transaction], [transaction])).toBe(undefined)
    expect(binding.approvalProblem([], [])).toMatch(/no transaction/)
    const both = await bindingOf({ transaction_data_hashes: [digestOf(transaction), digestOf('e30')] })
    expect(both.approvalProblem([transaction], [transaction, 'e30'])).toBe(undefined)
    expect(both.approvalProblem([transaction], [transaction])).toMatch(/not those of its transactions/)
  })
})

describe('what the disclosures reveal', () => {
  const revealed = async (shown: (position: readonly (string | number)[]) => boolean, more: readonly string[] = []) => {
    const claims = { name: 'Ada', address: { city: 'London' } }
    const { payload, disclosures } = concealClaims(claims, (position) => position.at(-1) === 'city', randomBytes)
    const text = [await jwt(payload), ...disclosures, ...more, ''].join('~')
    return { payload, revealed: revealSdJwt(readSdJwt(text), shown) }
  }

  it('stands in its place', async () => {
    expect((await revealed(() => false)).revealed).toMatchObject({
      payload: { name: 'Ada', address: { city: 'London' } },
      disclosable: [['address', 'city']],
      problem: undefined,
    })
  })

  it('is nothing where a claim that must be shown could be hidden', async () => {
    const { payload, revealed: found } = await revealed(([first]) => first === 'address')
    const problem = 'address.city must not be selectively disclosable'
    expect(found).toMatchObject({ payload, disclosable: [], problem })
  })

  it('is nothing where a disclosure is not of this credential', async () => {
    const { payload, revealed: found } = await revealed(() => false, [toBase64url('["s","role","x"]')])
    expect(found).toMatchObject({
      payload,
      disclosable: [],
      problem: expect.stringContaining('not referred to') as string,
    })
  })
})
