/**
 * Verifiers for the suite's plans for verifiers: by HAIP, and without it. Newer suites tell the CA of their mobile
 * documents (`/mdoc-iaca-root.pem`). In others, such as 5.2.4, one certificate in the source signs them all: the plans
 * with these are left out unless `--mdoc-issuer` names the file that has the certificate in PEM
 * (`src/main/kotlin/com/android/identity/testapp/TestAppUtils.kt` of the suite).
 */
import { createPublicKey, type KeyObject, randomBytes } from 'node:crypto'
import { mkdirSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createVerifierClient, type VerifierClient, type VerifierSchemas } from '../../sdk/server/index.ts'
import { writeName } from '../../src/keys/certificate-name.ts'
import { makeCertificate, toPem, usualExtensions } from '../../src/keys/make-certificate.ts'
import { makeKey, pemOf } from '../support/services.ts'
import type { SuitePlan, SuiteTarget, WaitingRun } from './suite-client.ts'
import { startService } from './suite-service.ts'

const PORTS = { plain_vp: 23_081, haip: 23_082 } as const
const HOST = 'localhost'
const PLANS = { plain_vp: 'oid4vp-1final-verifier-test-plan', haip: 'oid4vp-1final-verifier-haip-test-plan' } as const
/** HAIP asks for a place to send the person to. Nothing listens there: the script reads the address alone. */
const DONE = 'https://localhost:23083/done'
const NAMESPACE = 'org.iso.18013.5.1'

/** The query of each format, by the suite's name of it. */
const queries: Readonly<Record<Format, VerifierSchemas['DcqlQuery']['credentials'][number]>> = {
  sd_jwt_vc: {
    id: 'pid',
    format: 'dc+sd-jwt',
    meta: { vct_values: ['urn:eudi:pid:1'] },
    claims: [{ path: ['given_name'] }, { path: ['nationalities', null] }],
  },
  iso_mdl: {
    id: 'licence',
    format: 'mso_mdoc',
    meta: { doctype_value: `${NAMESPACE}.mDL` },
    claims: [{ path: [NAMESPACE, 'given_name'] }, { path: [NAMESPACE, 'age_over_18'] }],
  },
}

type Format = 'sd_jwt_vc' | 'iso_mdl'
type Profile = keyof typeof PLANS

/** A plan, and the service that it is run against: an SD-JWT VC comes encrypted by HAIP alone. */
interface Case {
  readonly profile: Profile
  readonly format: Format
  readonly mode: 'direct_post' | 'direct_post.jwt'
  readonly service: Profile
}

const cases: readonly Case[] = [
  { profile: 'plain_vp', format: 'sd_jwt_vc', mode: 'direct_post', service: 'plain_vp' },
  { profile: 'plain_vp', format: 'sd_jwt_vc', mode: 'direct_post.jwt', service: 'haip' },
  { profile: 'plain_vp', format: 'iso_mdl', mode: 'direct_post.jwt', service: 'plain_vp' },
  { profile: 'haip', format: 'sd_jwt_vc', mode: 'direct_post.jwt', service: 'haip' },
  { profile: 'haip', format: 'iso_mdl', mode: 'direct_post.jwt', service: 'haip' },
]

/** A key, its certificate, and the certificate of the authority that made it. */
interface KeyWithCertificate {
  readonly key: KeyObject
  readonly certificate: Buffer
  readonly authority: Buffer
}

/**
 * Starts a verifier by HAIP and one without it, for a plan of each case. The file has the certificate above the suite's
 * mobile documents, where the suite does not tell it.
 */
export async function startVerifiers(suite: URL, mdocIssuerFile?: string): Promise<SuiteTarget> {
  const mdocIssuers = await readMdocIssuers(suite, mdocIssuerFile)
  const [issuer, verifier] = [await certify('Example Issuer', suite.hostname), await certify('Example Shop', HOST)]
  const own = writeFiles(verifier, [toPem(issuer.authority), ...mdocIssuers])
  const services = {
    plain_vp: await startService(['verifier'], PORTS.plain_vp, () => own),
    haip: await startService(['verifier'], PORTS.haip, () => ({ ...own, profile: 'haip' })),
  }
  if (mdocIssuers.length === 0) process.stdout.write('without --mdoc-issuer no plan has mobile documents\n')
  const offered = cases.filter(({ format }) => format === 'sd_jwt_vc' || mdocIssuers.length > 0)
  return {
    plans: offered.map((each) => ({
      ...planOf(each, issuer, verifier),
      answer: answerOnce(createVerifierClient(services[each.service]), each),
    })),
    async close() {
      for (const service of Object.values(services)) await service.close()
    },
  }
}

/** Makes the answer to modules of a plan, each of which waits for one request. */
function answerOnce(client: VerifierClient, plan: Case): (run: WaitingRun) => Promise<void> {
  const answered = new Set<string>()
  return async (run) => {
    if (answered.has(run.id)) return
    answered.add(run.id)
    print(run, await present(client, plan, run))
  }
}

/** Returns the certificates above the suite's mobile documents, which the suite tells, or the file has. */
async function readMdocIssuers(suite: URL, file: string | undefined): Promise<readonly string[]> {
  const response = await fetch(new URL('/mdoc-iaca-root.pem', suite))
  const text = (response.ok ? await response.text() : '') + (file === undefined ? '' : readFileSync(file, 'utf8'))
  return text.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g) ?? []
}

/** Makes a key with a certificate of an authority: HAIP takes no certificate that signed itself. */
async function certify(commonName: string, dnsName: string): Promise<KeyWithCertificate> {
  const [key, authorityKey] = [await makeKey(), await makeKey()]
  const [publicKey, issuerPublicKey] = [createPublicKey(key), createPublicKey(authorityKey)]
  const name = writeName([['CN', `${commonName}, authority`]])
  const issuedBy = {
    issuer: { name, privateKey: authorityKey },
    notBefore: new Date(Date.now() - 60_000),
    notAfter: new Date(Date.now() + 86_400_000),
  }
  const names = { dnsNames: [dnsName] }
  return {
    key,
    certificate: makeCertificate({
      ...{ ...issuedBy, subject: writeName([['CN', commonName]]), publicKey, serial: randomBytes(16) },
      extensions: usualExtensions({ publicKey, issuerPublicKey, isCa: false, names }),
    }),
    authority: makeCertificate({
      ...{ ...issuedBy, subject: name, publicKey: issuerPublicKey, serial: randomBytes(16) },
      extensions: usualExtensions({ publicKey: issuerPublicKey, issuerPublicKey, isCa: true }),
    }),
  }
}

/**
 * Writes the key, certificate and anchors of a verifier, and returns the settings with them. It has no name in
 * `client_metadata`, of which the suite warns, since wallets may ignore it there.
 */
function writeFiles({ key, certificate }: KeyWithCertificate, anchors: readonly string[]): object {
  const directory = mkdtempSync(join(tmpdir(), 'vouchsafe-suite-'))
  const [keyFile, certificateFile] = [join(directory, 'signing.key'), join(directory, 'signing.pem')]
  const issuerTrustAnchors = join(directory, 'trust-anchors')
  mkdirSync(issuerTrustAnchors)
  for (const [index, pem] of anchors.entries()) writeFileSync(join(issuerTrustAnchors, `${index}.pem`), pem)
  writeFileSync(keyFile, pemOf(key))
  writeFileSync(certificateFile, toPem(certificate))
  return { signing: { keyFile, certificateFiles: [certificateFile] }, issuerTrustAnchors, clientMetadata: undefined }
}

function planOf({ profile, format, mode }: Case, issuer: KeyWithCertificate, verifier: KeyWithCertificate): SuitePlan {
  const page = 'https://*/test/a/*/verification-evidence'
  const picture = ['wait', 'xpath', '//*', 10, '.*verification evidence.*', 'update-image-placeholder']
  const x5c = [issuer.certificate.toString('base64')]
  const plain = { vp_profile: profile, client_id_prefix: 'x509_hash', request_method: 'request_uri_signed' }
  return {
    name: PLANS[profile],
    variant: { ...(profile === 'plain_vp' && plain), credential_format: format, response_mode: mode },
    configuration: {
      client: { request_object_trust_anchor_pem: toPem(verifier.authority) },
      credential: { signing_jwk: { ...issuer.key.export({ format: 'jwk' }), alg: 'ES256', use: 'sig', x5c } },
      // Where the suite wants a picture of our result it takes one of its own page; the script prints our report.
      browser: [{ match: page, tasks: [{ task: 'show the response', match: page, commands: [picture] }] }],
    },
  }
}

/** Starts a session, brings its link to the suite's wallet as a browser does, and reads the report of the session. */
async function present(
  client: VerifierClient,
  { profile, format }: Case,
  { module, exposed }: WaitingRun,
): Promise<VerifierSchemas['VerificationSession']> {
  const { session_id: id, request_uri: link } = await client.startSession({
    verification_query_id: await client.createQuery({ credentials: [queries[format]] }),
    ...(profile === 'haip' && { redirect_uri: DONE }),
    ...(module.endsWith('request-uri-method-post') && { request_uri_method: 'post' as const }),
  })
  const answer = await fetch(`${exposed.authorization_endpoint}${new URL(link).search}`, { redirect: 'manual' })
  const location = answer.headers.get('location')
  return client.getSession(id, { responseCode: location && new URL(location).searchParams.get('response_code') })
}

/** Prints our report, and sets the exit status where the result is not the one that the name of the module says. */
function print({ module }: WaitingRun, { status, result }: VerifierSchemas['VerificationSession']): void {
  const expected = /-invalid-|-iat-in-|-revoked-/.test(module) ? 'VERIFICATION_FAILED' : 'VERIFICATION_SUCCEEDED'
  if (status !== expected) process.exitCode = 1
  const ofCredentials = Object.values(result?.credentials ?? {}).flatMap((each) => each.flatMap(({ checks }) => checks))
  const failed = [...(result?.checks ?? []), ...ofCredentials].filter(({ outcome }) => outcome === 'failed')
  const lines = failed.map(({ id, detail = '' }) => `\n    ${id}: ${detail}`)
  process.stdout.write(`${status === expected ? '' : 'UNEXPECTED '}${status}${lines.join('')}\n`)
}
