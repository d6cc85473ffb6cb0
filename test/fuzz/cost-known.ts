/** Requests that once stopped a service for a while, or could have: each must cost no more than its size is worth. */
import type { Growth } from './growth.ts'

/** A request that was costly: a sentence, the endpoint, and its growths. */
export type KnownCost = readonly [what: string, target: string, growths: readonly Growth[]]

const growth = (place: string, shape: Growth['shape'], size: number, more: Partial<Growth> = {}): Growth => ({
  ...{ place, shape, size, fill: 'letter', prefix: '' },
  ...more,
})
const SD_JWT_VC = 'verifier response, dc+sd-jwt'
const W3C = 'verifier response, vc+sd-jwt'
const V2 = 'https://www.w3.org/ns/credentials/v2'

export const knownCosts: readonly KnownCost[] = [
  [
    'a host of 100,000 letters beyond ASCII',
    SD_JWT_VC,
    [growth('payload.iss', 'text', 100_000, { fill: 'han', prefix: 'https://' })],
  ],
  [
    'many names and a host of many labels',
    SD_JWT_VC,
    [growth('payload.iss', 'text', 150_000, { fill: 'label', prefix: 'https://' }), growth('x5c', 'list', 2000)],
  ],
  ['a name of invisible characters', SD_JWT_VC, [growth('payload.iss', 'text', 160_000, { fill: 'invisible' })]],
  [
    'many contexts and many types',
    W3C,
    [growth('payload.@context', 'known', 9000, { prefix: V2 }), growth('payload.type', 'list', 9000)],
  ],
  ['many disclosures', SD_JWT_VC, [growth('disclosures', 'list', 2000)]],
  ['more disclosures than are read', SD_JWT_VC, [growth('disclosures', 'empty', 400_000)]],
  ['many digests of nothing', SD_JWT_VC, [growth('disclosures', 'numbers', 4000)]],
  [
    'twenty presentations with ten slow certificates',
    SD_JWT_VC,
    [growth('x5c', 'objects', 9), growth('vp_token.copies', 'text', 19)],
  ],
  [
    'twenty presentations with nine slow certificates of strangers',
    SD_JWT_VC,
    [growth('x5c', 'grid', 9), growth('vp_token.copies', 'text', 19)],
  ],
  [
    'three presentations with hundreds of attributes in the name of a certificate',
    SD_JWT_VC,
    [growth('x5c', 'numbers', 900), growth('vp_token.copies', 'text', 3)],
  ],
  ['more certificates than are read', SD_JWT_VC, [growth('x5c', 'same', 600)]],
  ['many texts of numbers', SD_JWT_VC, [growth('payload.extra', 'exponents', 60_000)]],
  [
    'many elements that the device may state',
    'verifier encrypted response, mso_mdoc',
    [growth('authorized', 'text', 9000)],
  ],
  ['many elements', 'verifier encrypted response, mso_mdoc', [growth('items', 'text', 1000)]],
  [
    'arrays without elements',
    'verifier encrypted response, mso_mdoc',
    [growth('bytes.array', 'text', 300_000, { fill: 'zero' })],
  ],
  ['a form of many members', SD_JWT_VC, [growth('form', 'text', 120_000, { fill: 'pair' })]],
  [
    'a large body for no session',
    'verifier POST /presentation/oid4vp/authorization-response/a',
    [growth('body', 'text', 400_000, { fill: 'pair' })],
  ],
  [
    'ten proofs that attest a hundred keys each',
    'issuer POST credential-request',
    [growth('attested.attested_keys', 'keys', 100), growth('copies', 'text', 10)],
  ],
  [
    'a small request that inflates',
    'issuer POST credential-request, encrypted',
    [growth('whole', 'exponents', 400_000)],
  ],
  ['a status list that inflates', 'verifier response, status list (token)', [growth('packed', 'text', 50_000)]],
]
