/**
 * The format `jwt_vc_json`: W3C Verifiable Credentials (VCDM 1.1) as JWTs, presented in a VP-JWT, without selective
 * disclosure. OpenID4VCI 1.0 and OpenID4VP 1.0, VC Signed as a JWT, Not Using JSON-LD.
 */
import { isDeepStrictEqual } from 'node:util'
import { joseAlgorithms } from '../../keys/signature.ts'
import type { CredentialFormat } from '../format.ts'
import { w3cFormat } from '../w3c/format.ts'
import { sourceOfMember } from '../w3c/members.ts'
import { issue } from './issue.ts'
import { present } from './present.ts'
import { IDS, matchesOrder, read, readHeld } from './read.ts'
import { refuseInvalidDataset } from './subject.ts'
import { parseMembers, type W3cJwtMembers } from './validation.ts'

export const w3cJwt: CredentialFormat = {
  ...w3cFormat,
  ids: IDS,
  ownConfigurationMembers: ['subject'],
  parseMembers,
  sourceOf: (path, configuration) =>
    configuration.isHolderSubject && isDeepStrictEqual(path, ['credentialSubject', 'id'])
      ? 'issuer'
      : sourceOfMember(path, configuration, ['issuanceDate', 'expirationDate']),
  refuseInvalidDataset,
  issue,
  matchesOrder,
  readHeld,
  present,
  read,
  presentationAlgorithms: { alg_values: [...joseAlgorithms] },
  transactionProblem: 'the specification has no place for an approval in a presentation of this format',
  notApplicableReasons: {
    'credential.doc_type': 'only an mdoc states its type twice',
    'disclosures.valid': 'a plain JWT has no disclosures',
    'holder.sd_hash': 'the holder signs the credential itself, which is inside the presentation',
  },
} satisfies CredentialFormat<W3cJwtMembers>
