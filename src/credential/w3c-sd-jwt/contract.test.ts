import { describe } from 'vitest'
import { formatContract } from '../format.contract.ts'
import { w3cSdJwt } from './index.ts'

const configuration = {
  format: 'jwt_vc_json-ld',
  credential_definition: {
    '@context': ['https://www.w3.org/ns/credentials/v2'],
    type: ['VerifiableCredential', 'StudentCard'],
  },
}

describe('W3C credentials as SD-JWT', () => {
  formatContract({
    format: w3cSdJwt,
    configuration,
    dataset: (credentialSubject) => ({ credentialSubject }),
    refersToBitstrings: true,
    hides: true,
    root: ['credentialSubject'],
    reserved: ['_sd', '_sd_alg', '...', '__proto__'],
  })
})
