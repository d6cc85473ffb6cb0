/**
 * The npm packages `@owf/mdoc` and `@hpke/core` in the place of browser and wallet, by `org-iso-mdoc`: one verifies the
 * request and makes the documents, the other encrypts them.
 */
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { encodeCbor } from '../../src/codec/cbor.ts'
import { stringMemberOf } from '../../src/codec/json.ts'
import { readEncryptionInfo, writeEncryptedResponse } from '../../src/protocol/iso-mdoc.ts'
import { fetchPageRequest, ORIGIN, postCredential, startPageSession } from '../support/digital-credentials.ts'
import type { Services } from '../support/services.ts'
import { issueCredential } from '../support/wire.ts'
import { makeHolder } from './holder.ts'
import { answerDeviceRequest } from './mdoc.ts'
import type { Row, Step } from './rows.ts'
import { assertVerified, sampleOf } from './samples.ts'

interface Hpke {
  readonly CipherSuite: new (
    parts: object,
  ) => {
    readonly kem: { importKey(format: 'jwk', key: object, isPublic: boolean): Promise<object> }
    seal(parameters: object, content: Uint8Array): Promise<{ readonly enc: ArrayBuffer; readonly ct: ArrayBuffer }>
  }
  readonly DhkemP256HkdfSha256: new () => object
  readonly HkdfSha256: new () => object
  readonly Aes128Gcm: new () => object
}

// The package is named at run time, because it is installed for these tests only.
const packageName = '@hpke/core'
const { CipherSuite, DhkemP256HkdfSha256, HkdfSha256, Aes128Gcm } = (await import(packageName)) as Hpke
const suite = new CipherSuite({ kem: new DhkemP256HkdfSha256(), kdf: new HkdfSha256(), aead: new Aes128Gcm() })

/** Encrypts by the package. */
async function seal(content: Uint8Array, publicKey: object, info: Uint8Array) {
  const recipientPublicKey = await suite.kem.importKey('jwk', publicKey, true)
  const { enc, ct } = await suite.seal({ recipientPublicKey, info }, content)
  return { enc: new Uint8Array(enc), cipherText: new Uint8Array(ct) }
}

async function holds(services: Services, step: Step): Promise<void> {
  const holder = await makeHolder()
  const { configuration, dataset, query } = sampleOf('mso_mdoc')
  const credential = await issueCredential(services, holder.signer, configuration, dataset)
  const page = await startPageSession(services, query)
  const { body } = await fetchPageRequest(services, page)
  const request = body.digital.requests.find(({ protocol }) => protocol === 'org-iso-mdoc')?.data
  const [deviceRequest = '', encryptionInfo = ''] = ['deviceRequest', 'encryptionInfo'].map((name) =>
    stringMemberOf(request, name),
  )
  const digest = createHash('sha256').update(encodeCbor([encryptionInfo, ORIGIN]))
  const handover = ['dcapi', new Uint8Array(digest.digest())]
  const deviceResponse = await step('presentation', () =>
    answerDeviceRequest(Buffer.from(deviceRequest, 'base64url'), handover, credential, holder),
  )
  const info = encodeCbor([null, null, handover])
  const { recipientPublicKey } = readEncryptionInfo(encryptionInfo)
  const response = await step('encryption', async () =>
    writeEncryptedResponse(await seal(deviceResponse, recipientPublicKey, info)),
  )
  await step('verification', async () => {
    const answer = await postCredential(services, page, { protocol: 'org-iso-mdoc', data: { response } })
    assert.deepEqual([answer.status, await answer.json()], [200, {}])
    await assertVerified(services, 'mso_mdoc', page.session_id)
  })
}

/** The packages together, as one holder. */
export const isoMdocRows: readonly Row[] = [
  {
    packages: ['@owf/mdoc', '@hpke/core'],
    role: 'holder',
    specification: 'ISO/IEC TS 18013-7 Annex C',
    format: 'mso_mdoc',
    run: holds,
  },
]
