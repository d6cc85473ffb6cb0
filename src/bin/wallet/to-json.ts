/** The JSON output of the wallet's commands. */
import { hexFingerprint } from '../../keys/certificate.ts'
import { chosenMatches } from '../../wallet/match-credentials.ts'
import type { PresentationPlan } from '../../wallet/present.ts'
import type { OutstandingCredential } from '../../wallet/renewal.ts'
import type { StoredCredential } from '../../wallet/stored-credential.ts'

/** Describes a credential, without its key. */
export function credentialToJson(credential: StoredCredential) {
  return {
    id: credential.id,
    name: credential.name,
    issuer: credential.issuer,
    issuer_name: credential.issuerName,
    issuer_certificate: certificateToJson(credential.issuerCertificate),
    format: credential.format,
    type: credential.types,
    claims: Object.fromEntries(
      Object.entries(credential.claims).filter(([name]) => !credential.securingMembers.includes(name)),
    ),
    received_at: credential.receivedAt,
    valid_from: credential.validFrom,
    valid_until: credential.expiresAt,
    copies: credential.copies,
    renewable: credential.source !== undefined,
  }
}

function certificateToJson(certificate: StoredCredential['issuerCertificate']) {
  if (certificate === undefined) return undefined
  const { subjectText, issuerText } = certificate
  return { subject: subjectText, issuer: issuerText, sha256: hexFingerprint(certificate) }
}

export function planToJson(plan: PresentationPlan) {
  const { clientId, clientName, certificate, recipient, encryption } = plan.request
  const matches = chosenMatches(plan).map(({ query, credential, disclosed, hidden }) => {
    const claims = disclosed.map(({ position, value, because }) => ({ path: position, value, because }))
    return { query, described: { id: credential.id, name: credential.name, disclosed: claims, hidden } }
  })
  // A query with `multiple` has an array, even with one credential.
  const credentials = matches.map(({ query, described }) => {
    const descriptions = matches.filter((match) => match.query === query).map((match) => match.described)
    return [query.id, query.multiple ? descriptions : described] as const
  })
  return {
    verifier: {
      client_id: clientId,
      client_name: clientName,
      certificate_subject: certificate?.subjectText,
      origin: 'origin' in recipient ? recipient.origin : undefined,
    },
    credentials: Object.fromEntries(credentials),
    encrypted: encryption !== undefined,
    approved: plan.approvals.map(({ queryId: by, content }) => ({ by, transaction: content })),
  }
}

export function outstandingToJson({ credentialIssuer, configurationId, problem }: OutstandingCredential) {
  return { credential_issuer: credentialIssuer, credential_configuration_id: configurationId, problem }
}
