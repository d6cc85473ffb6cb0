import { describe } from 'vitest'
import { formatContract } from '../format.contract.ts'
import { w3cJwt } from './index.ts'

const configuration = {
  format: 'jwt_vc_json',
  credential_definition: { type: ['VerifiableCredential', 'StudentCard'] },
}

describe('W3C credentials as JWT', () => {
  formatContract({
    format: w3cJwt,
    configuration,
    dataset: (credentialSubject) => ({ credentialSubject }),
    refersToBitstrings: true,
    hides: false,
    root: ['credentialSubject'],
    reserved: ['_sd', '_sd_alg', '...', '__proto__'],
  })
})
