/** The settings of an issuer by the profile HAIP: what is on by itself, and what cannot be said beside it. */
import { createPublicKey } from 'node:crypto'
import { beforeAll, describe, expect, it } from 'vitest'
import { certify, makeAuthority } from '../../test/support/forge.ts'
import { filesOf, ISSUER_URL, makeKey, pemOf, settings } from '../../test/support/services.ts'
import { makeSelfSignedCertificate, toPem } from '../keys/make-certificate.ts'
import { readIssuerConfig } from './config.ts'

const now = new Date()
const good = {
  profile: 'haip',
  authentication: { interactionUrl: 'https://portal.example/wallet' },
  walletProviderTrustAnchors: 'providers',
}
let files: Map<string, string>
beforeAll(async () => {
  const [key, ca] = [await makeKey(), await makeAuthority('Example CA')]
  const p384 = await makeKey('ES384')
  const times = { notBefore: now, notAfter: new Date(now.getTime() + 86_400_000) }
  const self = { privateKey: key, publicKey: createPublicKey(key), commonName: 'Self', serial: Buffer.of(1), ...times }
  files = new Map([
    ['issuer.key', pemOf(key)],
    ['p384.key', pemOf(p384)],
    ['p384.pem', toPem(certify(ca, p384)) + toPem(ca.der)],
    ['issuer.pem', toPem(certify(ca, key)) + toPem(ca.der)],
    ['self.pem', toPem(makeSelfSignedCertificate(self))],
    ['providers/ca.pem', toPem(ca.der)],
  ])
})
const read = (more: object) =>
  readIssuerConfig(settings('issuer', ISSUER_URL, { ...good, ...more }), filesOf(files), now)

it('turn on everything that the profile demands', () => {
  expect(read({})).toMatchObject({
    config: {
      profile: 'haip',
      dpopRequired: true,
      codeFlow: { pushedRequired: true },
      clientAuthentication: { required: true },
    },
    warnings: [],
  })
  expect(read({ profile: undefined, walletAttestation: undefined })).toMatchObject({
    config: {
      profile: undefined,
      dpopRequired: false,
      codeFlow: { pushedRequired: false },
      clientAuthentication: { required: false },
    },
  })
})

it('lets clocks differ by ten seconds at least and a minute at most', () => {
  for (const clockSkewSeconds of [10, 60]) expect(read({ clockSkewSeconds })).not.toHaveProperty('mistakes')
})

it('lets the certificate of access tokens be self-signed where another signs metadata, since no wallet sees it', () => {
  const accessTokens = { keyFile: 'issuer.key', certificateFiles: ['self.pem'] }
  const metadata = { keyFile: 'issuer.key', certificateFiles: ['issuer.pem'] }
  expect(read({ keys: { accessTokens, metadata } })).not.toHaveProperty('mistakes')
})

it('may say what the profile has anyway', () => {
  const same = { dpop: 'required', pushedAuthorizationRequests: 'required', walletAttestation: 'required' }
  expect(read(same)).toEqual(read({}))
})

it('has the algorithms of FAPI 2.0 alone for what wallets get and use tokens by, and all of ours without the profile', () => {
  expect(read({})).toMatchObject({ config: { tokenAlgorithms: ['ES256', 'EdDSA', 'Ed25519'] } })
  const plain = read({ profile: undefined, walletAttestation: undefined })
  expect(plain).toMatchObject({ config: { tokenAlgorithms: expect.arrayContaining(['ES384', 'ES512']) as string[] } })
})

it('may have fewer algorithms, and leaves it to the issuer whether a DPoP proof has a nonce', () => {
  expect(read({ walletAlgorithms: ['ES512', 'ES256'], dpopNonce: 'optional' })).toMatchObject({
    config: { proofAlgorithms: ['ES512', 'ES256'], tokenAlgorithms: ['ES256'], dpopNonceRequired: false },
  })
})

it('with an authorization server of the operator leave to that server what is its own', () => {
  const authorizationServer = { issuer: 'https://login.example' }
  const value = settings('issuer', ISSUER_URL, { profile: 'haip', authorizationServer })
  expect(readIssuerConfig(value, filesOf(files), now)).toMatchObject({
    config: { profile: 'haip', dpopRequired: true },
  })
})

describe('a mistake at the start names the setting and what to do', () => {
  it.each<[string, object, RegExp]>([
    ['no authorization code flow', { authentication: undefined }, /^authentication: .*authentication\.interactionUrl/],
    ['no providers of wallets', { walletProviderTrustAnchors: undefined }, /^walletProviderTrustAnchors: .*directory/],
    ['DPoP as the wallet likes', { dpop: 'optional' }, /^dpop: .*"required"/],
    ['requests in the address', { pushedAuthorizationRequests: 'optional' }, /^pushedAuthorizationRequests: .*"requ/],
    ['wallets that nobody attests', { walletAttestation: 'optional' }, /^walletAttestation: .*"required"/],
    ['clocks that may differ by five minutes', { clockSkewSeconds: 300 }, /^clockSkewSeconds: .*10 to 60/],
    ['clocks that may not differ', { clockSkewSeconds: 9 }, /^clockSkewSeconds: .*10 to 60/],
    [
      'a redirect URI without TLS',
      { redirectUris: ['http://localhost/cb', 'http://wallet.example/cb'] },
      /^redirectUris\[1\]: the profile haip needs https/,
    ],
    ['algorithms without ES256', { walletAlgorithms: ['EdDSA', 'ES384'] }, /^walletAlgorithms: .*ES256; add it/],
    ['older drafts', { compatibility: ['draft13'] }, /^compatibility: .*leave older drafts out/],
    [
      'a self-signed certificate',
      { signing: { keyFile: 'issuer.key', certificateFiles: ['self.pem'] } },
      /^signing: .*is self-signed; get one/,
    ],
    [
      'a key of access tokens that FAPI 2.0 does not have',
      { keys: { accessTokens: { keyFile: 'p384.key', certificateFiles: ['p384.pem'] } } },
      /^keys\.accessTokens: the profile haip has access tokens by ES256 or EdDSA, and not by ES384; name a key of P-256/,
    ],
    [
      'a self-signed access certificate',
      { keys: { metadata: { keyFile: 'issuer.key', certificateFiles: ['self.pem'] } } },
      /^keys\.metadata: .*is self-signed; get one/,
    ],
    [
      'a self-signed certificate of the key that signs metadata in place of an access certificate',
      { keys: { accessTokens: { keyFile: 'issuer.key', certificateFiles: ['self.pem'] } } },
      /^keys\.accessTokens: .*is self-signed; get one/,
    ],
    [
      'a self-signed certificate for status lists',
      { keys: { statusLists: { keyFile: 'issuer.key', certificateFiles: ['self.pem'] } } },
      /^keys\.statusLists: .*is self-signed; get one/,
    ],
  ])('for %s', (_, more, why) => {
    expect(read(more)).toEqual({ mistakes: [expect.stringMatching(why)] })
    expect(read({ ...more, profile: undefined })).not.toHaveProperty('mistakes')
  })

  it('and all of them come at once', () => {
    const signing = { keyFile: 'issuer.key', certificateFiles: ['self.pem'] }
    const result = read({ dpop: 'optional', compatibility: ['draft13'], authentication: undefined, signing })
    expect(result).toMatchObject({ mistakes: { length: 4 } })
  })
})
