/**
 * Queries that name authorities, and credentials that are issued under them. What must not be accepted: test/attacks/.
 */
import { beforeAll, describe, expect, it } from 'vitest'
import { type Authority, certificateName, certify, makeAuthority } from '../../test/support/forge.ts'
import { type Services, startServices, VERIFIER_URL } from '../../test/support/services.ts'
import { testWallet } from '../../test/support/wallet.ts'
import {
  dcqlQuery,
  holderSigner,
  issueCredential,
  postForm,
  presentationOf,
  startIssuance,
  startVerification,
  statusOf,
} from '../../test/support/wire.ts'
import { readJws, writeJws } from '../codec/jws.ts'
import { createSigner } from '../keys/file-signer.ts'
import { toPem } from '../keys/make-certificate.ts'
import { planPresentation, sendPresentation } from '../wallet/present.ts'
import { receiveOffer } from '../wallet/receive.ts'
import type { VerificationReport } from './verification.ts'

const [ROOT, SUB, SELF] = ['cm9vdA', 'c3Vi', 'c2VsZg']
const aki = (...values: readonly string[]) => ({ type: 'aki', values })

describe('a credential that was issued under an authority', () => {
  let root: Authority
  let sub: Authority
  beforeAll(async () => {
    root = await makeAuthority('Example CA', { subjectKeyId: ROOT })
    sub = await makeAuthority('Example Sub CA')
  })

  /** The certificate of the subordinate CA, by the root. */
  const subDer = () =>
    certify(root, sub.key, {
      ...{ name: sub.name, isCa: true, usages: ['keyCertSign'] },
      ...{ authorityKeyId: ROOT, subjectKeyId: SUB },
    })

  /** Returns the credential with other certificates, signed again by the issuer. */
  async function withChain(credential: string, chain: readonly Uint8Array[], { issuerKey }: Services): Promise<string> {
    const [jws = '', ...disclosures] = credential.split('~')
    const { header, payload } = readJws(jws)
    const x5c = chain.map((der) => Buffer.from(der).toString('base64'))
    const signed = await writeJws({ ...header, x5c }, payload, (data) => createSigner(issuerKey, []).sign(data))
    return [signed, ...disclosures].join('~')
  }

  /** Returns the outcome of the check for a credential whose certificates are `chain`, where `anchors` are trusted. */
  async function checked(
    chain: (key: Services['issuerKey']) => readonly Uint8Array[],
    anchors: readonly Uint8Array[] | 'pinned',
    trusted_authorities: readonly object[],
    /** Stand in the header in their place, as no issuer of ours would have them. */
    instead = chain,
  ) {
    const services = await startServices({
      ...(anchors === 'pinned' ? {} : { anchors: anchors.map(toPem) }),
      ...(anchors.length === 0 ? { verifier: { issuerTrustAnchors: undefined } } : {}),
      issuerCertificates: (key) => Promise.resolve(chain(key).map(toPem).join('')),
    })
    try {
      const holder = await holderSigner()
      const issued = await issueCredential(services, holder)
      const credential = instead === chain ? issued : await withChain(issued, instead(services.issuerKey), services)
      const [card] = dcqlQuery.credentials
      const { sessionId, request } = await startVerification(services, {
        credentials: [{ ...card, trusted_authorities }],
      })
      const presentation = await presentationOf(credential, holder, request, services.clock)
      await postForm(services, request.response_uri, { vp_token: JSON.stringify({ card: [presentation] }) })
      const { verified, credentials } = (await statusOf(services, VERIFIER_URL, sessionId)).result as VerificationReport
      const check = credentials.card?.[0]?.checks.find(({ id }) => id === 'query.trusted_authorities')
      expect(verified).toBe(check?.outcome === 'passed')
      return check
    } finally {
      await services.close()
    }
  }

  const belowSub = (key: Services['issuerKey']) => [certify(sub, key, { authorityKeyId: SUB }), subDer()]

  it.each<[string, object[]]>([
    ['of the CA that issued its certificate', [aki(SUB)]],
    ['of the CA above that one', [aki(ROOT)]],
    ['that is one of several', [aki('AAAA', 'BBBB'), aki('CCCC', SUB)]],
  ])('answers a query for the authority %s', async (_, authorities) => {
    expect(await checked(belowSub, [root.der], authorities)).toMatchObject({ outcome: 'passed' })
  })

  it.each<
    [string, (key: Services['issuerKey']) => readonly Uint8Array[], () => readonly Uint8Array[] | 'pinned', string]
  >([
    ['above the anchor, which the anchor alone names', (key) => belowSub(key).slice(0, 1), () => [subDer()], ROOT],
    [
      'that its pinned certificate names',
      (key) => [certify({ name: certificateName, key }, key, { authorityKeyId: SELF, subjectKeyId: SELF })],
      () => 'pinned',
      SELF,
    ],
    [
      'that the certificate of the issuer names, and the next one of the path is not',
      (key) => [certify(sub, key, { authorityKeyId: 'b3RoZXI' }), subDer()],
      () => [root.der],
      'b3RoZXI',
    ],
    [
      'that the certificate of the issuer names, and a certificate is that has nothing to do with it',
      (key) => [certify(sub, key, { authorityKeyId: 'b3RoZXI' }), subDer()],
      () => [root.der, certify(root, sub.key, { name: root.name, isCa: true, subjectKeyId: 'b3RoZXI' })],
      'b3RoZXI',
    ],
  ])('does not answer for an authority %s', async (_, chain, anchors, wanted) => {
    expect(await checked(chain, anchors(), [aki(wanted)])).toMatchObject({ outcome: 'failed' })
  })

  it('does not answer for an authority whose key identifier another authority that is trusted has taken', async () => {
    const liar = await makeAuthority('Other CA', { subjectKeyId: ROOT })
    const below = (key: Services['issuerKey']) => [certify(liar, key, { authorityKeyId: ROOT })]
    expect(await checked(below, [root.der, liar.der], [aki(ROOT)])).toMatchObject({ outcome: 'failed' })
    expect(await checked(below, [liar.der], [aki(ROOT)])).toMatchObject({ outcome: 'passed' })
  })

  describe('and whose CA has a certificate of another authority too', () => {
    const OTHER = 'b3RoZXI'
    let other: Authority
    beforeAll(async () => {
      other = await makeAuthority('Other CA', { subjectKeyId: OTHER })
    })

    const checkedBy = (by: Authority, wanted: string) => {
      const crossDer = certify(by, sub.key, {
        ...{ name: sub.name, isCa: true, usages: ['keyCertSign'] },
        ...{ authorityKeyId: OTHER, subjectKeyId: SUB },
      })
      const chain = (key: Services['issuerKey']) => [...belowSub(key), crossDer]
      return checked(belowSub, [root.der, other.der], [aki(wanted)], chain)
    }

    it.each([ROOT, OTHER])('answers a query for either: %s', async (wanted) => {
      expect(await checkedBy(other, wanted)).toMatchObject({ outcome: 'passed' })
    })

    it('does not answer for an authority that signed neither', async () => {
      expect(await checkedBy(other, 'AAAA')).toMatchObject({ outcome: 'failed' })
      const namesake = { ...(await makeAuthority('Other CA', { subjectKeyId: OTHER })), name: other.name }
      expect(await checkedBy(namesake, OTHER)).toMatchObject({ outcome: 'failed' })
    })
  })

  it('does not answer for an authority that the path does not reach', async () => {
    expect(await checked(belowSub, [subDer()], [aki('AAAA')])).toMatchObject({
      outcome: 'failed',
      detail: 'no certificate above that of the issuer is one of trusted_authorities',
    })
  })

  it('is what a wallet answers with, and with no other', async () => {
    const services = await startServices({
      anchors: [toPem(root.der)],
      issuerCertificates: (key) => Promise.resolve(belowSub(key).map(toPem).join('')),
    })
    try {
      const { wallet } = testWallet(services.fetch, services.clock)
      await receiveOffer(wallet, (await startIssuance(services)).link)
      const [card] = dcqlQuery.credentials
      const planFor = async (...authorities: readonly object[]) => {
        const query = { credentials: [{ ...card, trusted_authorities: authorities }] }
        const { sessionId, link } = await startVerification(services, query)
        return { sessionId, plan: await planPresentation(wallet, link) }
      }
      for (const wanted of [SUB, ROOT]) {
        const { sessionId, plan } = await planFor(aki('AAAA'), aki(wanted))
        await sendPresentation(wallet, plan)
        expect(await statusOf(services, VERIFIER_URL, sessionId)).toMatchObject({ status: 'VERIFICATION_SUCCEEDED' })
      }
      const { plan } = await planFor(aki('AAAA'))
      expect(plan.problem).toMatch(/it was not issued under an authority that was asked for/)
    } finally {
      await services.close()
    }
  })

  describe('where no anchors are configured', () => {
    it('is judged by its certificates, as far as each signed the one before', async () => {
      const check = await checked(belowSub, [], [aki(SUB)])
      expect(check).toMatchObject({ outcome: 'passed', detail: expect.stringContaining('nobody vouches') as string })
      expect(await checked(belowSub, [], [aki(ROOT)])).toMatchObject({ outcome: 'failed' })
    })

    it('is not judged by a certificate that did not sign for the one before', async () => {
      const other = await makeAuthority('Example Sub CA')
      const chain = (key: Services['issuerKey']) => [certify(other, key, { authorityKeyId: SUB }), subDer()]
      expect(await checked(belowSub, [], [aki(SUB)], chain)).toMatchObject({ outcome: 'failed' })
      expect(await checked(belowSub, [], [aki(SUB)], (key) => belowSub(key))).toMatchObject({ outcome: 'passed' })
    })
  })
})
