import { describe } from 'vitest'
import { formatContract } from '../format.contract.ts'
import { sdJwtVc } from './index.ts'

const configuration = { format: 'dc+sd-jwt', vct: 'urn:example:student-card' }
const REGISTERED = ['iss', 'aud', 'nbf', 'exp', 'iat', 'jti', 'cnf', 'vct', 'vct#integrity', 'aka_vcts', 'status']

describe('SD-JWT VC', () => {
  formatContract({
    format: sdJwtVc,
    configuration,
    dataset: (credentialSubject) => ({ credentialSubject }),
    hides: true,
    root: [],
    reserved: ['_sd', '_sd_alg', '...', '__proto__', ...REGISTERED],
  })
})
