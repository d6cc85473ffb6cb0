import { createPublicKey, randomBytes } from 'node:crypto'
import { expect, it } from 'vitest'
import { makeKey } from '../../../test/support/services.ts'
import type { CommonConfig } from '../../config/common.ts'
import { parseCertificate } from '../../keys/certificate.ts'
import type { SigningKey } from '../../keys/key-ring.ts'
import { makeSelfSignedCertificate } from '../../keys/make-certificate.ts'
import { findKeyMistakes } from './reload.ts'

const NAMES = { commonName: 'Uni', serial: randomBytes(16) }
const TIMES = { notBefore: new Date(), notAfter: new Date(Date.now() + 1e9) }
const PKCS11_KEY = { module: '/token.so', place: { slot: 0 }, keyLabel: 'signing', pin: '1234' }

const configOf = (signing: SigningKey): CommonConfig =>
  ({ keys: { signing: { ...signing, previous: [] }, secrets: ['signing-key'] } }) as unknown as CommonConfig

it('a certificate of another key needs a restart, and is told by the setting that there is', async () => {
  const make = async () => {
    const key = await makeKey()
    const der = makeSelfSignedCertificate({ privateKey: key, publicKey: createPublicKey(key), ...NAMES, ...TIMES })
    return { key, chain: [parseCertificate(der)] as const }
  }
  const [one, other] = [await make(), await make()]
  const inToken = ({ chain }: SigningKey) => configOf({ chain, pkcs11Key: PKCS11_KEY })
  expect(findKeyMistakes(inToken(one), inToken(one))).toEqual([])
  expect(findKeyMistakes(inToken(one), inToken(other))).toEqual([
    'signing.certificateFiles[0]: the certificate is of another key than at the start; restart the service to use it',
  ])
  expect(findKeyMistakes(configOf(one), configOf(other))).toEqual([
    'signing.keyFile: the key has changed since the start; restart the service to use it',
  ])
})
