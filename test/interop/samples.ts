/** A credential of each format: how it is declared, filled, asked for, and what a verification then shows. */
import assert from 'node:assert/strict'
import { writeName } from '../../src/keys/certificate-name.ts'
import { toPem } from '../../src/keys/make-certificate.ts'
import type { VerificationReport } from '../../src/verifier/verification.ts'
import { certify } from '../support/forge.ts'
import {
  ISSUER_URL,
  makeKey,
  type ServiceOptions,
  type Services,
  startServices,
  VERIFIER_URL,
} from '../support/services.ts'
import { configuration, declare, startIssuance, startVerification, statusOf } from '../support/wire.ts'

export interface Sample {
  readonly configuration: Readonly<Record<string, unknown>>
  readonly dataset: Readonly<Record<string, unknown>>
  readonly query: { readonly credentials: readonly object[] }
  /** The claims that the query asks for, as a report shows them. */
  readonly claims: Readonly<Record<string, unknown>>
}

export const DOCTYPE = 'org.example.student.1'
export const NAMESPACE = 'org.example.student'
export const VCT = 'https://issuer.localhost/types/student'

const subject = { credentialSubject: { given_name: 'Ada', family_name: 'Lovelace' } }
const person = { given_name: 'Ada', family_name: 'Lovelace' }

const { credential_metadata: metadata, credential_definition: definition } = configuration

function w3c(format: string): Sample {
  const types = definition.type
  return {
    configuration: { format, credential_definition: definition, credential_metadata: metadata },
    dataset: subject,
    query: queryFor(format, { type_values: [types] }, ['credentialSubject', 'given_name']),
    claims: { credentialSubject: { given_name: 'Ada' } },
  }
}

function queryFor(format: string, meta: object, path: readonly string[]): Sample['query'] {
  return { credentials: [{ id: 'card', format, meta, claims: [{ path }] }] }
}

function describeClaim(path: readonly string[]): object {
  return { display: metadata.display, claims: [{ path, display: [{ name: 'Given name', locale: 'en-GB' }] }] }
}

const samples: Readonly<Record<string, Sample>> = {
  'jwt_vc_json-ld': w3c('jwt_vc_json-ld'),
  'vc+sd-jwt': w3c('vc+sd-jwt'),
  jwt_vc_json: {
    ...w3c('jwt_vc_json'),
    configuration: {
      format: 'jwt_vc_json',
      credential_definition: { type: definition.type },
      credential_metadata: metadata,
    },
    // A signed JWT shows all or nothing.
    claims: subject,
  },
  'dc+sd-jwt': {
    configuration: { format: 'dc+sd-jwt', vct: VCT, credential_metadata: describeClaim(['given_name']) },
    dataset: person,
    query: queryFor('dc+sd-jwt', { vct_values: [VCT] }, ['given_name']),
    claims: { given_name: 'Ada' },
  },
  mso_mdoc: {
    configuration: {
      format: 'mso_mdoc',
      doctype: DOCTYPE,
      credential_metadata: describeClaim([NAMESPACE, 'given_name']),
    },
    dataset: { [NAMESPACE]: person },
    query: queryFor('mso_mdoc', { doctype_value: DOCTYPE }, [NAMESPACE, 'given_name']),
    claims: { [NAMESPACE]: { given_name: 'Ada' } },
  },
}

export function sampleOf(format: string): Sample {
  return samples[format] ?? assert.fail(`no sample of ${format}`)
}

/** Starts both services, the issuer below an authority that the verifier trusts, as production has it. */
export async function startWithAuthority(options: ServiceOptions = {}): Promise<Services> {
  // Document signers name their country. ISO 18013-5, Certificate profiles.
  const name = writeName([
    ['C', 'UT'],
    ['CN', 'Example CA'],
  ])
  const authority = { name, key: await makeKey() }
  const anchor = certify(authority, authority.key, { name, isCa: true, usages: ['keyCertSign'] })
  const leaf = writeName([
    ['C', 'UT'],
    ['CN', 'issuer.localhost'],
  ])
  return startServices({
    ...options,
    anchors: [toPem(anchor)],
    issuerCertificates: (key) => Promise.resolve(toPem(certify(authority, key, { name: leaf, uris: [ISSUER_URL] }))),
  })
}

/** Makes an offer of the format's credential, and returns it with the id of its configuration. */
export async function offerOf(
  services: Services,
  format: string,
): Promise<{ readonly link: string; readonly id: string }> {
  const { configuration: posted, dataset } = sampleOf(format)
  const id = await declare(services, posted)
  const { link } = await startIssuance(services, { credential_configurations: [id], credential_dataset: dataset })
  return { link, id }
}

/** Starts a request for the format's credential. */
export function requestOf(services: Services, format: string): ReturnType<typeof startVerification> {
  return startVerification(services, sampleOf(format).query)
}

/** Fails unless the session ended well and shows what was asked for. */
export async function assertVerified(services: Services, format: string, sessionId: string): Promise<void> {
  const { status, result } = await statusOf(services, VERIFIER_URL, sessionId)
  const { checks, credentials } = result as VerificationReport
  const failed = [...checks, ...(credentials.card?.[0]?.checks ?? [])].filter(({ outcome }) => outcome === 'failed')
  assert.deepEqual(failed, [])
  assert.equal(status, 'VERIFICATION_SUCCEEDED')
  const claims = credentials.card?.[0]?.claims ?? {}
  for (const [name, value] of Object.entries(sampleOf(format).claims)) assert.deepEqual(claims[name], value)
}
