/** The findings of `vouchsafe doctor` about keys, certificates, trust anchors and secrets. */
import { createPublicKey, randomBytes } from 'node:crypto'
import { chmodSync, copyFileSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { SECRETS_FILE } from '../../src/bin/init/files.ts'
import { writeName } from '../../src/keys/certificate-name.ts'
import { makeCertificate, toPem, usualExtensions } from '../../src/keys/make-certificate.ts'
import {
  ANCHOR,
  certify,
  examine,
  inDays,
  itFinds,
  makeSelfSigned,
  makeServiceFiles,
  type ServiceFiles,
} from '../support/doctor.ts'
import { certificateName, certify as forged } from '../support/forge.ts'

/** Returns the settings with an earlier key whose certificate ends after so many days. */
function withPrevious({ directory, key, settings }: ServiceFiles, days: number): object {
  const file = join(directory, 'previous.pem')
  writeFileSync(file, makeSelfSigned(key, settings.baseUrl, inDays(days)))
  const signing = settings.signing as object
  return { signing: { ...signing, previous: [{ ...signing, certificateFiles: [file] }] } }
}

it('vouchsafe doctor says of a key in a token without a secrets file that one is required, and nothing else', async () => {
  const it = await makeServiceFiles('issuer')
  const { certificateFiles } = it.settings.signing as { readonly certificateFiles: readonly string[] }
  const pkcs11 = { module: '/nowhere.so', slot: 0, keyLabel: 'signing', pinFile: join(it.directory, 'pin') }
  Object.assign(it.settings, { secretsFile: undefined, signing: { pkcs11, certificateFiles } })
  const findings = (await examine(it)).filter(({ subject }) => subject === 'secretsFile')
  expect(findings.map(({ outcome }) => outcome)).toEqual(['problem'])
})

describe('vouchsafe doctor finds', () => {
  itFinds([
    ['a self-signed certificate', 'issuer', () => undefined, 'signing', 'warning', /self-signed/],
    [
      'a certificate that has expired',
      'issuer',
      (it) => certify(it, makeSelfSigned(it.key, it.settings.baseUrl, inDays(-1))),
      'signing.certificateFiles[0]',
      'problem',
      /expired on/,
    ],
    [
      'a certificate that expires soon',
      'issuer',
      (it) => certify(it, makeSelfSigned(it.key, it.settings.baseUrl, inDays(10.5))),
      'signing',
      'warning',
      /10 days from now: renew it soon/,
    ],
    [
      'an earlier certificate',
      'issuer',
      (it) => withPrevious(it, 89.5),
      'signing.previous[0]',
      'ok',
      /^the key fits .* 89 days from now$/,
    ],
    [
      'an earlier certificate that expires soon',
      'issuer',
      (it) => withPrevious(it, 10.5),
      'signing.previous[0]',
      'warning',
      /10 days from now: renew it soon, or take it out when/,
    ],
    [
      'a certificate for TLS that expires soon',
      'issuer',
      (it) => {
        certify(it, makeSelfSigned(it.key, it.settings.baseUrl, inDays(29.5)))
        return { tls: it.settings.signing }
      },
      'tls',
      'warning',
      /29 days from now: renew it soon/,
    ],
    [
      'a self-signed certificate for TLS',
      'issuer',
      ({ settings }) => ({ tls: settings.signing }),
      'tls',
      'warning',
      /self-signed; phones and most wallets refuse it/,
    ],
    [
      'an attester that cannot be read',
      'issuer',
      ({ directory }) => {
        mkdirSync(join(directory, 'attesters'))
        writeFileSync(join(directory, 'attesters/a.pem'), 'Dear reader')
        return { keyAttestationTrustAnchors: join(directory, 'attesters') }
      },
      'keyAttestationTrustAnchors',
      'problem',
      /a.pem: it holds no PEM certificate/,
    ],
    [
      'an attester',
      'issuer',
      ({ directory }) => {
        mkdirSync(join(directory, 'attesters'))
        copyFileSync(join(directory, 'conf/issuer.pem'), join(directory, 'attesters/a.pem'))
        return { keyAttestationTrustAnchors: join(directory, 'attesters') }
      },
      'keyAttestationTrustAnchors',
      'ok',
      /CN=Example is valid until/,
    ],
    [
      'a key that does not fit the certificate',
      'verifier',
      async (it) =>
        certify(it, readFileSync(join((await makeServiceFiles('verifier')).directory, 'conf/verifier.pem'), 'utf8')),
      'signing.keyFile',
      'problem',
      /not the one of the first certificate/,
    ],
    [
      'a key that others can read',
      'issuer',
      ({ directory }) => chmodSync(join(directory, 'conf/issuer.key'), 0o644),
      'signing',
      'warning',
      /mode 644\); chmod 600/,
    ],
    [
      'a chain whose second certificate did not sign the first',
      'issuer',
      async (it) =>
        certify(
          it,
          makeSelfSigned(it.key, it.settings.baseUrl, inDays(90)) +
            readFileSync(join((await makeServiceFiles('issuer')).directory, 'conf/issuer.pem'), 'utf8'),
        ),
      'signing.certificateFiles[0]',
      'problem',
      /the certificate 'CN=Example' did not sign 'CN=Example' before it/,
    ],
    [
      'an issuer.id that the certificate is not for',
      'issuer',
      () => ({ issuer: { id: 'https://other.example', display: { name: 'Other' } } }),
      'issuer.id',
      'warning',
      /the issuer is https:\/\/other.example, and the certificate CN=Example is for http:/,
    ],
    [
      'a file of secrets',
      'issuer',
      () => undefined,
      'secretsFile',
      'ok',
      /^codes, nonces and tokens are derived from its one line$/,
    ],
    [
      'a file of secrets that others can read',
      'issuer',
      ({ directory }) => chmodSync(join(directory, SECRETS_FILE), 0o644),
      'secretsFile',
      'warning',
      /mode 644\); chmod 600/,
    ],
    [
      'a file of secrets that is broken',
      'issuer',
      ({ directory }) => writeFileSync(join(directory, SECRETS_FILE), '# none\n'),
      'secretsFile',
      'problem',
      /has no key; make one with: openssl rand/,
    ],
    [
      'secrets that are derived from the signing key',
      'issuer',
      () => ({ secretsFile: undefined }),
      'secretsFile',
      'note',
      /derived from the signing key; give them a file of their own/,
    ],
    [
      'no trust anchors',
      'verifier',
      () => ({ issuerTrustAnchors: undefined }),
      'issuerTrustAnchors',
      'warning',
      /not configured, so that any certificate will do/,
    ],
    [
      'a directory without trust anchors',
      'verifier',
      ({ directory }) => rmSync(join(directory, ANCHOR)),
      'issuerTrustAnchors',
      'problem',
      /there is no certificate in/,
    ],
    [
      'a trust anchor',
      'verifier',
      () => undefined,
      'issuerTrustAnchors',
      'ok',
      /CN=Example is valid until \d{4}-\d\d-\d\d, 7\d\d days from now/,
    ],
    [
      'a trust anchor that may sign nothing',
      'verifier',
      ({ directory, key }) =>
        writeFileSync(
          join(directory, ANCHOR),
          toPem(forged({ name: certificateName, key }, key, { usages: ['keyAgreement'] })),
        ),
      'issuerTrustAnchors',
      'warning',
      /does not allow digitalSignature, and it is not a CA: put the certificate there that signs, or that of its CA/,
    ],
    [
      'a CA that may sign certificates alone',
      'verifier',
      ({ directory, key }) =>
        writeFileSync(
          join(directory, ANCHOR),
          toPem(forged({ name: certificateName, key }, key, { isCa: true, usages: ['keyCertSign'] })),
        ),
      'issuerTrustAnchors',
      'note',
      /does not allow digitalSignature; it vouches for the certificates that it signed/,
    ],
    [
      'a trust anchor that has expired',
      'verifier',
      ({ directory, key }) =>
        writeFileSync(join(directory, 'conf/trust-anchors/b.pem'), makeSelfSigned(key, 'http://a.example', inDays(-2))),
      'issuerTrustAnchors',
      'warning',
      /CN=Example expired on/,
    ],
    [
      'a key where a trust anchor should be',
      'verifier',
      ({ directory }) => copyFileSync(join(directory, 'conf/verifier.key'), join(directory, ANCHOR)),
      'issuerTrustAnchors',
      'problem',
      /a.pem: it holds a private key/,
    ],
    [
      'TLS, and an address that says otherwise',
      'issuer',
      ({ settings }) => ({ tls: settings.signing }),
      'tls',
      'warning',
      /the service speaks https, and baseUrl says http/,
    ],
  ])

  it('a chain of which each certificate is signed by the next', async () => {
    const it = await makeServiceFiles('issuer')
    const ca = (await makeServiceFiles('issuer')).key
    const name = writeName([['CN', 'Example CA']])
    const content = { serial: randomBytes(16), notBefore: inDays(-1), notAfter: inDays(90) }
    const issuer = { name, privateKey: ca }
    const keys = { publicKey: createPublicKey(it.key), issuerPublicKey: createPublicKey(ca) }
    const names = { uris: [it.settings.baseUrl] }
    const leaf = makeCertificate({
      ...content,
      subject: writeName([['CN', 'Example']]),
      publicKey: keys.publicKey,
      issuer,
      extensions: usualExtensions({ ...keys, isCa: false, names }),
    })
    const caKeys = { publicKey: keys.issuerPublicKey, issuerPublicKey: keys.issuerPublicKey }
    const root = makeCertificate({
      ...content,
      subject: name,
      publicKey: keys.issuerPublicKey,
      issuer,
      extensions: usualExtensions({ ...caKeys, isCa: true }),
    })
    certify(it, toPem(leaf) + toPem(root))
    const texts = (await examine(it)).filter(({ subject }) => subject === 'signing').map(({ text }) => text)
    expect(texts).toContain('each of the 2 certificates is signed by the next')
    expect(texts.join()).not.toContain('self-signed')
    certify(it, toPem(leaf))
    expect(await examine(it)).toContainEqual(
      expect.objectContaining({
        outcome: 'note',
        text: expect.stringMatching(/CN=Example CA, is not sent along/) as string,
      }),
    )
  })
})
