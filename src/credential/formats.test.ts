/** The facts about every format for others: in metadata, and for the checks. */
import { expect, it } from 'vitest'
import { formatOf, presentationFormats, supportedFormats } from './formats.ts'

const JOSE = ['ES256', 'ES384', 'ES512', 'EdDSA', 'Ed25519']
const COSE = [-7, -9, -35, -51, -36, -52, -8, -19]
const SD_JWT = { 'sd-jwt_alg_values': JOSE, 'kb-jwt_alg_values': JOSE }

it('each is found by its identifiers, and nothing else is', () => {
  expect(supportedFormats).toEqual(['jwt_vc_json-ld', 'vc+sd-jwt', 'dc+sd-jwt', 'jwt_vc_json', 'mso_mdoc'])
  for (const id of supportedFormats) expect(formatOf(id)?.ids).toContain(id)
  expect([formatOf('ldp_vc'), formatOf('')]).toEqual([undefined, undefined])
})

it('wallets are told the algorithms of each under the names that OpenID4VP has for them', () => {
  expect(presentationFormats()).toEqual({
    'jwt_vc_json-ld': { alg_values: JOSE, ...SD_JWT },
    'vc+sd-jwt': { alg_values: JOSE, ...SD_JWT },
    'dc+sd-jwt': SD_JWT,
    jwt_vc_json: { alg_values: JOSE },
    mso_mdoc: { issuerauth_alg_values: COSE, deviceauth_alg_values: COSE },
  })
})

it.each([
  ['jwt_vc_json-ld', 'ES256', ['jwk', 'did:jwk', 'did:key']],
  ['dc+sd-jwt', 'ES256', ['jwk', 'did:jwk', 'did:key']],
  ['jwt_vc_json', 'ES256', ['jwk', 'did:jwk', 'did:key']],
  ['mso_mdoc', -7, ['cose_key', 'jwk', 'did:jwk', 'did:key']],
])('%s names the algorithm %s and the ways to bind', (id, algorithm, methods) => {
  expect(formatOf(id)?.signingAlgorithm('ES256')).toBe(algorithm)
  expect(formatOf(id)?.bindingMethods).toEqual(methods)
})

it.each([
  ['jwt_vc_json-ld', ['credential.doc_type']],
  ['dc+sd-jwt', ['credential.doc_type']],
  ['jwt_vc_json', ['credential.doc_type', 'disclosures.valid', 'holder.sd_hash']],
  ['mso_mdoc', ['issuer.identifier', 'holder.nonce', 'holder.audience', 'holder.fresh', 'holder.sd_hash']],
])('%s says why some checks have nothing to ask of it', (id, checks) => {
  const notApplicable = formatOf(id)?.notApplicableReasons ?? {}
  expect(Object.keys(notApplicable)).toEqual(checks)
  for (const reason of Object.values(notApplicable)) expect(reason).toMatch(/ /)
})

it.each([
  ['jwt_vc_json-ld', undefined, false],
  ['dc+sd-jwt', undefined, false],
  ['jwt_vc_json', /no place for an approval/, false],
  ['mso_mdoc', /elements that the device signs/, true],
])('%s says whether it can approve transactions, and what its signature covers', (id, problem, covers) => {
  const { transactionProblem, signatureCoversRequest, notApplicableReasons } = formatOf(id) ?? {}
  if (problem === undefined) expect(transactionProblem).toBeUndefined()
  else expect(transactionProblem).toMatch(problem)
  expect(signatureCoversRequest).toBe(covers)
  expect(notApplicableReasons?.['holder.nonce'] !== undefined).toBe(covers)
})
