/** The provider of wallets for tests. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { expect, it } from 'vitest'
import { temporaryDirectory } from '../../../test/support/command.ts'
import { errorOf } from '../../../test/support/wallet.ts'
import { readJws } from '../../codec/jws.ts'
import { parseCertificate, readPemCertificates } from '../../keys/certificate.ts'
import { findTrustPath } from '../../keys/trust-path.ts'
import { makeTestProvider, TEST_PROVIDER } from '../init/haip.ts'
import { readAttestationFile, readAttestationText, writeAttestationFile } from './files.ts'
import { attestForTests } from './test-attestation.ts'

const at = new Date()
const times = { notBefore: new Date(at.getTime() - 1000), notAfter: new Date(at.getTime() + 86_400_000) }

async function provider() {
  const directory = temporaryDirectory()
  const files = await makeTestProvider(times)
  for (const { path, text } of files) {
    mkdirSync(dirname(join(directory, path)), { recursive: true })
    writeFileSync(join(directory, path), text)
  }
  return { directory: join(directory, TEST_PROVIDER), anchor: files[0]?.text ?? '' }
}

it('attests a wallet by a certificate that leads to its anchor, which is not sent along', async () => {
  const [{ directory, anchor }, home] = [await provider(), temporaryDirectory()]
  const { text, until } = await attestForTests(directory, undefined)
  await writeAttestationFile(home, text)
  const attestation = await readAttestationFile(home)
  const { header, payload } = readJws(attestation?.jwt ?? '')
  expect(payload).toMatchObject({
    iss: 'urn:vouchsafe:test-wallet-provider',
    sub: 'vouchsafe-wallet',
    cnf: { jwk: attestation?.key.jwk },
  })
  expect(payload.exp).toBe(until.getTime() / 1000)
  const chain = (header.x5c as string[]).map((each) => parseCertificate(Buffer.from(each, 'base64')))
  expect(chain.map(({ selfIssued }) => selfIssued)).toEqual([false])
  expect(findTrustPath(chain, readPemCertificates(anchor), { now: at, clockSkewSeconds: 60 })).toHaveProperty('path')
})

it('keeps the key of a wallet that it attests again, and gives each other wallet its own', async () => {
  const [{ directory }, home] = [await provider(), temporaryDirectory()]
  const keys: unknown[] = []
  for (const before of [undefined, 'again', 'again'] as const) {
    const { text } = await attestForTests(directory, before && (await readAttestationText(home)))
    await writeAttestationFile(home, text)
    keys.push((await readAttestationFile(home))?.key.kid)
  }
  expect(new Set(keys).size).toBe(1)
  const other = JSON.parse((await attestForTests(directory, undefined)).text) as { key: { x: string } }
  expect(other.key.x).not.toBe((await readAttestationFile(home))?.key.jwk.x)
})

it.each<[string, (directory: string) => void, RegExp]>([
  ['is not there', () => undefined, /provider\.key cannot be read .*init issuer --profile haip/],
  [
    'has no key',
    (directory) => {
      for (const file of ['provider.key', 'provider.pem']) writeFileSync(join(directory, file), 'x')
    },
    /is not a provider of wallets for tests: provider\.key/,
  ],
])('refuses a directory that %s, and says where one comes from', async (_, spoil, why) => {
  const directory = temporaryDirectory()
  spoil(directory)
  const error = await errorOf(attestForTests(directory, undefined))
  expect([error.code, error.message]).toEqual(['unsupported', expect.stringMatching(why)])
})
