/**
 * Key proofs whose key a certificate names. It needs nobody's trust, and has to be one, valid, and of the key that
 * signed. OpenID4VCI 1.0, jwt Proof Type; RFC 7515 section 4.1.6.
 */
import { generateKeyPair, type KeyObject, randomBytes } from 'node:crypto'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { toBase64url } from '../../src/codec/base64url.ts'
import { parseCertificate } from '../../src/keys/certificate.ts'
import { writeName } from '../../src/keys/certificate-name.ts'
import { importPublicKey } from '../../src/keys/jwk.ts'
import { extension, keyUsage, makeCertificate, usualExtensions } from '../../src/keys/make-certificate.ts'
import type { Algorithm } from '../../src/keys/signature.ts'
import type { Signer } from '../../src/keys/signer.ts'
import { type Authority, makeAuthority } from '../support/forge.ts'
import { expectHarmless, type Ready, readySession, requestWithProof } from '../support/issuance.ts'
import type { JwtChanges } from '../support/jwt.ts'
import { ISSUER_URL, type Services, startServices } from '../support/services.ts'
import { declare, holderSigner, statusOf } from '../support/wire.ts'

let authority: Authority
let other: Signer
let strange: KeyObject
const generate = promisify(generateKeyPair)

/** The subject of the certificates: a person, whose name belongs in no log and no status. */
const PERSON = 'Ada Lovelace'

/** Makes a certificate for the key, by an authority that nobody trusts. Times are in days from now. */
function certificateOf(
  key: KeyObject,
  from = -1,
  until = 1,
  extensions = usualExtensions({ publicKey: key, issuerPublicKey: key, isCa: false }),
): Buffer {
  const days = (count: number) => new Date(Date.now() + count * 86_400_000)
  return makeCertificate({
    subject: writeName([['CN', PERSON]]),
    publicKey: key,
    issuer: { name: authority.name, privateKey: authority.key },
    serial: randomBytes(16).fill(1, 0, 1),
    notBefore: days(from),
    notAfter: days(until),
    extensions,
  })
}

const keyOf = ({ holder }: Ready): KeyObject => importPublicKey(holder.jwk)
const x5c = (...chain: readonly unknown[]): JwtChanges => ({ header: { kid: undefined, x5c: chain } })
const base64 = (der: Buffer): string => der.toString('base64')

interface Attack {
  readonly attack: string
  readonly proof: (ready: Ready) => JwtChanges
  readonly why: RegExp
}

const attacks: readonly Attack[] = [
  {
    attack: 'a kid beside the certificate',
    proof: (ready) => ({ header: { x5c: [base64(certificateOf(keyOf(ready)))] } }),
    why: /exactly one of kid/,
  },
  {
    attack: 'a jwk beside the certificate',
    proof: (ready) => ({
      header: { kid: undefined, jwk: ready.holder.jwk, x5c: [base64(certificateOf(keyOf(ready)))] },
    }),
    why: /exactly one of kid/,
  },
  {
    attack: 'all three of them null',
    proof: () => ({ header: { kid: null, jwk: null, x5c: null } }),
    why: /exactly one/,
  },
  { attack: 'null alone', proof: () => ({ header: { kid: undefined, x5c: null } }), why: /x5c is not an array/ },
  { attack: 'a text', proof: () => ({ header: { kid: undefined, x5c: 'AA==' } }), why: /x5c is not an array/ },
  { attack: 'no certificate', proof: () => x5c(), why: /x5c is empty/ },
  { attack: 'a number', proof: () => x5c(1), why: /x5c\[0\]: it is not a string/ },
  { attack: 'two bytes', proof: () => x5c('AAAA'), why: /x5c\[0\]/ },
  {
    attack: 'base64url',
    proof: (ready) => x5c(toBase64url(certificateOf(keyOf(ready)))),
    why: /x5c\[0\]: it is not base64/,
  },
  {
    attack: 'a line break',
    proof: (ready) => x5c(base64(certificateOf(keyOf(ready))).replace(/^.{64}/, '$&\n')),
    why: /x5c\[0\]: it is not base64/,
  },
  {
    attack: 'eleven certificates',
    proof: (ready) => x5c(...Array<string>(11).fill(base64(certificateOf(keyOf(ready))))),
    why: /more than 10/,
  },
  {
    attack: 'something else behind the certificate',
    proof: (ready) => x5c(base64(certificateOf(keyOf(ready))), 'AAAA'),
    why: /x5c\[1\]/,
  },
  {
    attack: 'the certificate of another',
    proof: () => x5c(base64(certificateOf(importPublicKey(other.jwk)))),
    why: /signature/,
  },
  {
    attack: 'the certificate of the key after that of another',
    proof: (ready) => x5c(base64(certificateOf(importPublicKey(other.jwk))), base64(certificateOf(keyOf(ready)))),
    why: /signature/,
  },
  {
    attack: 'a certificate that has expired',
    proof: (ready) => x5c(base64(certificateOf(keyOf(ready), -2, -1))),
    why: /expired/,
  },
  {
    attack: 'a certificate that is not valid yet',
    proof: (ready) => x5c(base64(certificateOf(keyOf(ready), 1, 2))),
    why: /not valid before/,
  },
  {
    attack: 'a certificate with a critical extension that we do not know',
    proof: (ready) => x5c(base64(certificateOf(keyOf(ready), -1, 1, [extension('1.2.3', true, Buffer.of(5, 0))]))),
    why: /not supported and must be: 1\.2\.3/,
  },
  {
    attack: 'a certificate whose key is for the agreement of keys',
    proof: (ready) => x5c(base64(certificateOf(keyOf(ready), -1, 1, [keyUsage(['keyAgreement'])]))),
    why: /its key usage does not allow signatures/,
  },
  {
    attack: 'the certificate of a key on another curve',
    proof: () => x5c(base64(certificateOf(strange))),
    why: /unsupported key type/,
  },
]

describe('a key proof by certificate', () => {
  let services: Services
  let configurationId: string
  beforeAll(async () => {
    services = await startServices()
    configurationId = await declare(services)
    authority = await makeAuthority('Nobody')
    other = await holderSigner()
    strange = (await generate('ec', { namedCurve: 'brainpoolP256r1' })).publicKey
  })
  afterAll(() => services.close())
  const ready = () => readySession(services, { credential_configurations: [configurationId] })

  it.each(attacks)('$attack: refused and without effect', async ({ proof, why }) => {
    const session = await ready()
    const changes = proof(session)
    await expectHarmless(session, () => requestWithProof(session, changes), {
      status: 400,
      error: 'invalid_proof',
      why,
    })
    const status = await statusOf(services, ISSUER_URL, session.sessionId)
    expect(status).toMatchObject({ problem: { error: 'invalid_proof' } })
    expect([JSON.stringify(status), ...services.logLines].filter((text) => text.includes(PERSON))).toEqual([])
  })

  it.each<Algorithm>(['ES256', 'ES384', 'ES512', 'EdDSA'])(
    'takes one of a key for %s, and binds to it',
    async (algorithm) => {
      const session = { ...(await ready()), holder: await holderSigner(algorithm) }
      const response = await requestWithProof(
        session,
        x5c(base64(certificateOf(keyOf(session))), base64(authority.der)),
      )
      const { credentials } = (await response.json()) as { credentials: { credential: string }[] }
      const [, body = ''] = (credentials[0]?.credential ?? '').split('.')
      expect(JSON.parse(Buffer.from(body, 'base64url').toString())).toMatchObject({ cnf: { jwk: session.holder.jwk } })
      expect(parseCertificate(authority.der).selfIssued).toBe(true)
    },
  )
})
