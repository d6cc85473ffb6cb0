/** Our HPKE against the npm package `@hpke/core`, which decrypts what we encrypt, and the other way round. */
import { randomBytes } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { openHpke, sealHpke } from '../../src/keys/hpke.ts'
import { makePrivateJwk, publicPartOf } from '../../src/keys/private-jwk.ts'
import { open, seal } from './iso-mdoc.ts'

describe('the package @hpke/core', () => {
  const key = makePrivateJwk(randomBytes)
  const info = new Uint8Array(randomBytes(50))

  it.each([0, 1, 1000])('decrypts what we encrypt, and encrypts what we decrypt: %i bytes', async (length) => {
    const content = new Uint8Array(randomBytes(length))
    expect(await open(sealHpke(content, key, { info }, randomBytes), key, info)).toEqual(Buffer.from(content))
    expect(openHpke(await seal(content, publicPartOf(key), info), key, { info })).toEqual(Buffer.from(content))
  })
})
