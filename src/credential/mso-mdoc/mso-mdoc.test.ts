import { describe } from 'vitest'
import { fromBase64url } from '../../codec/base64url.ts'
import { decodeCbor } from '../../codec/cbor.ts'
import type { JsonObject } from '../../codec/json.ts'
import { formatContract } from '../format.contract.ts'
import { msoMdoc } from './index.ts'
import { readIssuerSigned } from './issuer-signed.ts'

const NAMESPACE = 'org.iso.18013.5.1'
const configuration = { format: 'mso_mdoc', doctype: 'org.iso.18013.5.1.mDL' }

/** What an issuer signs of each element, and the element behind it. */
function concealedParts(credential: string): readonly string[] {
  const { nameSpaces } = readIssuerSigned(decodeCbor(fromBase64url(credential)))
  return [...nameSpaces.values()].flat().map((item) => Buffer.from(item).toString('hex'))
}

describe('mobile documents', () => {
  formatContract({
    format: msoMdoc,
    configuration,
    dataset: (claims: JsonObject) => ({ [NAMESPACE]: claims }),
    hides: true,
    root: [NAMESPACE],
    reserved: ['__proto__'],
    concealed: concealedParts,
    flat: true,
  })
})
