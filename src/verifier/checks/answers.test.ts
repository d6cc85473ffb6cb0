/** The outcome of each check for evidence that is right but for one thing, and the sentence for people. */
import { createHash } from 'node:crypto'
import { pino } from 'pino'
import { beforeAll, describe, expect, it } from 'vitest'
import { silentLog } from '../../../test/support/check-log.ts'
import {
  CA_KEY_ID,
  certificateName,
  certify,
  makeForgery,
  putTogether,
  startWorld,
  type World,
} from '../../../test/support/forge.ts'
import { makeKey } from '../../../test/support/services.ts'
import { bindingTo, dcqlQuery, startVerification } from '../../../test/support/wire.ts'
import { runChecks } from '../../check/check.ts'
import type { FetchedStatusList } from '../../check/status/status-list-token.ts'
import { malformed } from '../../codec/malformed.ts'
import type { Evidence, HolderEvidence } from '../../credential/format.ts'
import { formatOf } from '../../credential/formats.ts'
import { type Certificate, parseCertificate } from '../../keys/certificate.ts'
import { EXTENDED_KEY_USAGE } from '../../keys/certificate-purpose.ts'
import { readDcqlQuery } from '../../protocol/dcql.ts'
import { createIssuerPathFinder, parseIssuerChain } from '../issuer-path.ts'
import type { EvidenceWithChain, PresentationCheckContext } from './context.ts'
import { evidenceChecks, readingChecks, responseChecks } from './index.ts'
import type { ResponseCheckContext, ResponseEvidence } from './response.ts'

type Changed<T> = (good: T) => Partial<T>
type Row = readonly [
  what: string,
  check: string,
  answer: string | RegExp,
  evidence: Changed<Evidence> | undefined,
  context?: Changed<PresentationCheckContext>,
]

const noClaims = (): Partial<Evidence> => ({ claims: {}, readClaimsInPlace: () => ({}) })
const SKEW = 60
let world: World
let evidence: Evidence
let context: PresentationCheckContext
beforeAll(async () => {
  world = await startWorld()
  const { services, ca } = world
  const { request } = await startVerification(services)
  const [query] = readDcqlQuery(dcqlQuery).credentials
  const format = formatOf(query?.format ?? '')
  if (query === undefined || format === undefined) throw new Error('no query')
  const { now } = services.clock
  evidence = format.read(await putTogether(await makeForgery(world, request)))
  context = {
    credentialQuery: query,
    format,
    binding: { ...bindingTo(request.nonce, request.client_id, now) },
    transactions: [],
    sessionStart: now,
    now,
    clockSkewSeconds: SKEW,
    trustAnchors: [parseCertificate(ca.der)],
    trustLists: [],
    loadTrustLists: () => Promise.resolve([]),
    parseCertificate,
    findIssuerPath: () => ({ problem: 'not asked' }),
    issuerIdentifier: undefined,
    acceptTlsServerCertificates: false,
    status: {
      loadList: () => Promise.resolve({ unreachable: 'nobody answered' }),
      onUnreachable: 'reject',
    },
  }
  return () => services.close()
})

async function answerOf(
  id: string,
  changed: Partial<Evidence> | undefined,
  asked: Partial<PresentationCheckContext>,
): Promise<string> {
  const given = { ...context, ...asked }
  const findIssuerPath = createIssuerPathFinder(given)
  const results = await runChecks(
    evidenceChecks,
    changed && withChain({ ...evidence, ...changed }, given),
    { ...given, findIssuerPath },
    { ...silentLog, notApplicableReasons: given.format.notApplicableReasons },
  )
  const { outcome, detail } = results.find((each) => each.id === id) ?? { outcome: 'no such check' }
  return detail === undefined ? outcome : `${outcome}: ${detail}`
}

const withChain = (each: Evidence, given: Pick<PresentationCheckContext, 'parseCertificate'>): EvidenceWithChain => ({
  ...each,
  issuerChain: parseIssuerChain(each.issuer.chain, given.parseCertificate),
})
const same = () => ({})
const at = (seconds: number): Date => new Date(context.now.getTime() + seconds * 1000)
const proof =
  (change: () => Partial<HolderEvidence>): Changed<Evidence> =>
  ({ holder }) => {
    if (holder === undefined) throw new Error('no holder')
    return { holder: { ...holder, ...change() } }
  }
const issuedBy =
  (change: (world: World) => Partial<Evidence['issuer']>): Changed<Evidence> =>
  ({ issuer }) => ({
    issuer: { ...issuer, ...change(world) },
  })
const asked =
  (change: object): Changed<PresentationCheckContext> =>
  ({ credentialQuery }) => ({ credentialQuery: { ...credentialQuery, ...change } })
const startedAt =
  (offset: number): Changed<PresentationCheckContext> =>
  () => ({
    sessionStart: new Date(Math.floor(context.now.getTime() / 1000) * 1000 + offset),
  })
const limits = (notBefore: number[], notAfter: number[]) => () => ({
  validity: {
    notBefore: notBefore.map((seconds) => ({ member: 'nbf', at: Number.isNaN(seconds) ? undefined : at(seconds) })),
    notAfter: notAfter.map((seconds) => ({ member: 'exp', at: Number.isNaN(seconds) ? undefined : at(seconds) })),
  },
})
const bare = () => ({ trustAnchors: undefined })
const NOT_NOW = "failed: the holder's proof is not valid now, by its own exp or nbf"
const OLD = "failed: the holder's proof is older than the session"
const FUTURE = "failed: the holder's proof is from the future; check the clocks"

const holder: readonly Row[] = [
  ['a bound key and a proof', 'holder.binding', 'passed', same],
  ['no usable key', 'holder.binding', 'failed: no key', () => ({ boundKey: { problem: 'no key' } })],
  ['no proof', 'holder.binding', 'failed: the presentation has no proof of the holder', () => ({ holder: undefined })],
  ['a proof of another kind', 'holder.binding', 'failed: no type', proof(() => ({ problem: 'no type' }))],
  ['no proof', 'holder.signature', 'not_run: holder.binding did not pass', () => ({ holder: undefined })],
  ['no proof', 'holder.nonce', 'not_run: holder.binding did not pass', () => ({ holder: undefined })],
  ['no proof', 'holder.audience', 'not_run: holder.binding did not pass', () => ({ holder: undefined })],
  ['no proof', 'holder.fresh', 'not_run: holder.binding did not pass', () => ({ holder: undefined })],
  ['no proof', 'holder.sd_hash', 'not_run: holder.binding did not pass', () => ({ holder: undefined })],
  ['the signature of the bound key', 'holder.signature', 'passed', same],
  [
    'another signature',
    'holder.signature',
    'failed: the signature of the holder is not by the bound key: a reason',
    proof(() => ({ signatureProblem: () => 'a reason' })),
  ],
  ['our nonce', 'holder.nonce', 'passed', same],
  [
    'another nonce',
    'holder.nonce',
    "failed: the nonce of the holder's proof is not the one of the request",
    proof(() => ({ nonce: 'other' })),
  ],
  ['our name', 'holder.audience', 'passed', same],
  [
    'another audience',
    'holder.audience',
    "failed: the audience of the holder's proof is other, and not us",
    proof(() => ({ audience: 'other' })),
    ({ binding }) => ({ binding: { ...binding, audience: 'us' } }),
  ],
  [
    'no audience',
    'holder.audience',
    "failed: the audience of the holder's proof is not a text, and not us",
    proof(() => ({ audience: undefined })),
    ({ binding }) => ({ binding: { ...binding, audience: 'us' } }),
  ],
  ['the hash of the disclosures', 'holder.sd_hash', 'passed', same],
  [
    'another hash',
    'holder.sd_hash',
    'failed: sd_hash of the key binding is not the hash of the presentation',
    proof(() => ({ coversPresentation: false })),
  ],
  ['nothing to approve', 'holder.transaction_data', 'not_applicable: no transaction was to be approved with it', same],
  [
    'what was to be approved',
    'holder.transaction_data',
    'passed',
    proof(() => ({ approvalProblem: ([text]) => (text === 'a transaction' ? undefined : 'a reason') })),
    ({ binding }) => ({ binding: { ...binding, transactionData: ['a transaction'] } }),
  ],
  [
    'something else approved',
    'holder.transaction_data',
    "failed: the holder's proof does not approve the transactions of this credential: a reason",
    proof(() => ({ approvalProblem: () => 'a reason' })),
    ({ binding }) => ({ binding: { ...binding, transactionData: ['a transaction'] } }),
  ],
  ['a time of this moment', 'holder.fresh', 'passed', proof(() => ({ presentedAt: at(0) }))],
  [
    'no time, where none need be',
    'holder.fresh',
    'passed: the proof has no iat, which this format does not require; its nonce is accepted once',
    proof(() => ({ presentedAt: undefined })),
  ],
  [
    'no time that is one',
    'holder.fresh',
    "failed: the holder's proof does not say when it was made (iat)",
    proof(() => ({ presentedAt: new Date(Number.NaN) })),
  ],
  [
    'a time just before the session began',
    'holder.fresh',
    'passed',
    proof(() => ({ presentedAt: new Date(Math.floor(context.now.getTime() / 1000) * 1000 - SKEW * 1000) })),
    startedAt(999),
  ],
  [
    'a time before the session',
    'holder.fresh',
    OLD,
    proof(() => ({ presentedAt: new Date(Math.floor(context.now.getTime() / 1000) * 1000 - SKEW * 1000 - 1) })),
    startedAt(999),
  ],
  ['a time just after now', 'holder.fresh', 'passed', proof(() => ({ presentedAt: at(SKEW) }))],
  ['a time after now', 'holder.fresh', FUTURE, proof(() => ({ presentedAt: at(SKEW + 0.001) }))],
  ['an end just now', 'holder.fresh', 'passed', proof(limits([], [-SKEW + 0.001]))],
  ['an end before', 'holder.fresh', NOT_NOW, proof(limits([], [-SKEW]))],
  ['two ends, one before', 'holder.fresh', NOT_NOW, proof(limits([], [-SKEW, 1]))],
  ['an end that is not a time', 'holder.fresh', NOT_NOW, proof(limits([], [Number.NaN]))],
  ['a beginning just now', 'holder.fresh', 'passed', proof(limits([SKEW], []))],
  ['a beginning later', 'holder.fresh', NOT_NOW, proof(limits([SKEW + 0.001], []))],
  ['two beginnings, one later', 'holder.fresh', NOT_NOW, proof(limits([0, SKEW + 1], []))],
  ['a beginning that is not a time', 'holder.fresh', NOT_NOW, proof(limits([Number.NaN], []))],
  ...['binding', 'signature', 'nonce', 'audience', 'fresh', 'sd_hash'].map(
    (id): Row => [
      'nobody asking for the holder',
      `holder.${id}`,
      'not_applicable: the query does not require holder binding',
      () => ({ holder: undefined }),
      asked({ require_cryptographic_holder_binding: false }),
    ],
  ),
]

const long = (length: number) =>
  issuedBy(() => ({ chain: Array<Uint8Array>(length).fill(evidence.issuer.chain[0] ?? new Uint8Array()) }))
const noNames = issuedBy(({ ca, issuerKey }) => ({ chain: [certify(ca, issuerKey, { dnsNames: [] })] }))
const ofTlsServer = issuedBy(() => ({ chain: [tlsServer.der] }))
let tlsServer: Certificate
const ofCertSigner = issuedBy(() => ({ chain: [certSigner.der] }))
let certSigner: Certificate
const ofKeyAgreement = issuedBy(() => ({ chain: [forKeyAgreement.der] }))
let forKeyAgreement: Certificate
/** A chain whose certificates are by another authority, which is sent along. */
let strangers: readonly Uint8Array[]
beforeAll(async () => {
  const key = await makeKey()
  const other = certify({ name: certificateName, key }, key, { isCa: true, usages: ['keyCertSign'] })
  const { tlsServer: server, tlsClient } = EXTENDED_KEY_USAGE
  const purposes = { purposes: [server, tlsClient], isCritical: false }
  certSigner = parseCertificate(certify(world.ca, world.issuerKey, { usages: ['keyCertSign'] }))
  forKeyAgreement = parseCertificate(certify(world.ca, world.issuerKey, { usages: ['keyAgreement'] }))
  tlsServer = parseCertificate(certify(world.ca, world.issuerKey, purposes))
  strangers = [certify({ name: certificateName, key }, world.issuerKey), other]
})
const fingerprintOfFirst = () =>
  createHash('sha256')
    .update(strangers[0] ?? '')
    .digest('hex')

const issuer: readonly Row[] = [
  ['the signature of the issuer', 'issuer.signature', 'passed', same],
  [
    'another signature',
    'issuer.signature',
    'failed: the signature is not by the key of CN=issuer.localhost: a reason',
    issuedBy(() => ({ signatureProblem: () => 'a reason' })),
  ],
  [
    'no certificate',
    'issuer.signature',
    'not_run: there is no issuer certificate to take the key from',
    issuedBy(() => ({ chain: [] })),
  ],
  ['a good certificate', 'issuer.certificate', 'passed', same],
  [
    'no certificate',
    'issuer.certificate',
    'failed: the credential comes with no certificate (x5c or x5chain)',
    issuedBy(() => ({ chain: [] })),
  ],
  ['ten certificates', 'issuer.certificate', 'passed', long(10)],
  [
    'eleven certificates',
    'issuer.certificate',
    'failed: the credential comes with more than 10 certificates',
    long(11),
  ],
  ['a path to an anchor', 'issuer.trusted', 'passed: by way of CN=issuer.localhost, CN=Example CA', same],
  ['no anchors', 'issuer.trusted', 'not_applicable: no trust anchors are configured (issuerTrustAnchors)', same, bare],
  [
    'a list of anchors that is empty',
    'issuer.trusted',
    /^failed: 'CN=issuer\.localhost', issued by 'CN=Example CA', is not trusted: there are no trust anchors/,
    same,
    () => ({ trustAnchors: [] }),
  ],
  [
    'another signature',
    'issuer.trusted',
    'not_run: issuer.signature did not pass',
    issuedBy(() => ({ signatureProblem: () => 'a reason' })),
  ],
  ['another name', 'issuer.identifier', 'passed', same],
  [
    'no name beside the certificate',
    'issuer.identifier',
    'passed: the credential names no issuer beside its certificate',
    issuedBy(() => ({ identifiers: [] })),
  ],
  [
    'a name that is not text',
    'issuer.identifier',
    'failed: the credential names no issuer',
    issuedBy(() => ({ identifiers: [''] })),
  ],
  [
    'a name that is too long',
    'issuer.identifier',
    'failed: the name of the issuer is longer than 2048 characters',
    issuedBy(() => ({ identifiers: [`https://${'x'.repeat(2041)}`] })),
  ],
  [
    'another signature',
    'issuer.identifier',
    'not_run: issuer.signature did not pass',
    issuedBy(() => ({ signatureProblem: () => 'a reason' })),
  ],
  [
    'two names',
    'issuer.identifier',
    'failed: iss and issuer of the credential differ',
    ({ issuer: good }) => ({ issuer: { ...good, identifiers: [...good.identifiers.slice(0, 1), 'other'] } }),
  ],
  ['no certificate', 'issuer.identifier', 'not_run: issuer.signature did not pass', issuedBy(() => ({ chain: [] }))],
  [
    'a certificate without names',
    'issuer.identifier',
    'warning: the issuer is http://issuer.localhost, and the certificate CN=issuer.localhost is for no URI and no host; accepted, as the setting issuerIdentifier is not match',
    noNames,
  ],
  [
    'a certificate without names, where they must match',
    'issuer.identifier',
    'failed: the issuer is http://issuer.localhost, and the certificate CN=issuer.localhost is for no URI and no host',
    noNames,
    () => ({ issuerIdentifier: 'match' }),
  ],
  [
    'a certificate of a TLS server below an anchor',
    'issuer.trusted',
    /^failed: the certificate 'CN=issuer\.localhost' is that of a TLS server, .*\. To trust it, put certificate/,
    ofTlsServer,
  ],
  [
    'a certificate of a TLS server below an anchor, where it will do',
    'issuer.trusted',
    /^passed: by way of/,
    ofTlsServer,
    () => ({ acceptTlsServerCertificates: true }),
  ],
  [
    'a certificate of a TLS server that is an anchor',
    'issuer.trusted',
    'passed: by way of CN=issuer.localhost',
    ofTlsServer,
    () => ({ trustAnchors: [tlsServer] }),
  ],
  [
    'a signing time before the certificate',
    'issuer.certificate',
    "failed: the credential says that it was signed when the certificate 'CN=issuer.localhost' was not valid",
    issuedBy(() => ({ signedAt: { member: 'signed', at: at(-366 * 86_400) } })),
  ],
  [
    'a signing time after the certificate',
    'issuer.certificate',
    "failed: the credential says that it was signed when the certificate 'CN=issuer.localhost' was not valid",
    issuedBy(() => ({ signedAt: { member: 'signed', at: at(3_660 * 86_400) } })),
  ],
  [
    'a signing time within',
    'issuer.certificate',
    'passed',
    issuedBy(() => ({ signedAt: { member: 'signed', at: at(0) } })),
  ],
  [
    'a signing time at the end',
    'issuer.certificate',
    'passed',
    (good) => ({ issuer: { ...good.issuer, signedAt: { member: 'signed', at: leafOf(good).notAfter } } }),
  ],
  [
    'a signing time at the beginning',
    'issuer.certificate',
    'passed',
    (good) => ({ issuer: { ...good.issuer, signedAt: { member: 'signed', at: leafOf(good).notBefore } } }),
  ],
]

function leafOf(good: Evidence) {
  return parseCertificate(good.issuer.chain[0] ?? new Uint8Array())
}

const AUTHORITIES = { trusted_authorities: [{ type: 'aki', values: [CA_KEY_ID] }] }
const underAuthority = issuedBy(({ ca, issuerKey }) => ({
  chain: [certify(ca, issuerKey, { authorityKeyId: CA_KEY_ID }), ca.der],
}))

const others: readonly Row[] = [
  ['disclosures that fit', 'disclosures.valid', 'passed', same],
  ['disclosures that do not', 'disclosures.valid', 'failed: twice', () => ({ disclosuresProblem: 'twice' })],
  ['no stated type', 'credential.doc_type', 'passed', () => ({ statedTypes: undefined }) as never, withAllAsked],
  ['the stated type', 'credential.doc_type', 'passed', () => ({ types: ['a', 'b'], statedTypes: ['b'] }), withAllAsked],
  [
    'another stated type',
    'credential.doc_type',
    'failed: the docType of the document is not the one that the issuer signed',
    () => ({ types: ['a'], statedTypes: ['a', 'b'] }),
    withAllAsked,
  ],
  ['no limits', 'validity.not_before', 'passed: the credential sets no such limit', limits([], [])],
  ['no limits', 'validity.not_expired', 'passed: the credential sets no such limit', limits([], [])],
  ['a beginning just now', 'validity.not_before', 'passed', limits([SKEW], [])],
  [
    'a beginning later',
    'validity.not_before',
    /^failed: the credential is not valid before .*Z \(nbf\)$/,
    limits([0, SKEW + 0.001], []),
  ],
  ['a beginning that is not a time', 'validity.not_before', 'failed: nbf is not a time', limits([Number.NaN], [])],
  ['an end just now', 'validity.not_expired', 'passed', limits([], [-SKEW + 0.001])],
  ['an end before', 'validity.not_expired', /^failed: the credential expired on .*Z \(exp\)$/, limits([], [0, -SKEW])],
  ['an end that is not a time', 'validity.not_expired', 'failed: exp is not a time', limits([], [Number.NaN])],
  ['no status', 'status.valid', 'passed: the credential carries no status', () => ({ status: undefined })],
  [
    'a status',
    'status.valid',
    'failed: its status has no status_list, and no other way is supported',
    () => ({ status: {} }),
  ],
  [
    'a status without anchors',
    'status.valid',
    'not_applicable: no trust anchors are configured, so that no status is fetched',
    () => ({ status: {} }),
    bare,
  ],
  ['the format', 'query.format', 'passed', same],
  [
    'another format',
    'query.format',
    'failed: the credential is not jwt_vc_json-ld: its type (typ) is JWT',
    () => ({ formatProblem: 'its type (typ) is JWT' }),
  ],
  [
    'an anchor with the key usage keyCertSign alone that signed the credential itself',
    'issuer.certificate',
    /^warning: the key usage of the certificate 'CN=issuer\.localhost' does not allow digitalSignature; accepted, because the certificate itself is a trust anchor/,
    ofCertSigner,
    () => ({ trustAnchors: [certSigner] }),
  ],
  [
    'a certificate with the key usage keyCertSign alone that is not an anchor',
    'issuer.certificate',
    /^failed: the key usage of the certificate 'CN=issuer\.localhost' does not allow digitalSignature$/,
    ofCertSigner,
  ],
  [
    'an anchor that may sign neither certificates nor anything else, and signed the credential itself',
    'issuer.certificate',
    /^failed: the key usage of the certificate 'CN=issuer\.localhost' does not allow digitalSignature$/,
    ofKeyAgreement,
    () => ({ trustAnchors: [forKeyAgreement] }),
  ],
  [
    'a certificate with the key usage nonRepudiation alone',
    'issuer.certificate',
    'passed',
    issuedBy(({ ca, issuerKey }) => ({ chain: [certify(ca, issuerKey, { usages: ['nonRepudiation'] })] })),
  ],
  ['the type', 'query.type', 'passed', same],
  [
    'another type',
    'query.type',
    'failed: the credential is of none of the types that meta asks for',
    () => ({ types: ['Other'] }),
  ],
  [
    'nobody asking for authorities',
    'query.trusted_authorities',
    'not_applicable: the query names no authorities (trusted_authorities)',
    same,
  ],
  [
    'another signature',
    'query.trusted_authorities',
    'not_run: issuer.signature did not pass',
    issuedBy(() => ({ signatureProblem: () => 'a reason' })),
    (good) => ({ ...asked(AUTHORITIES)(good), trustAnchors: undefined }),
  ],
  [
    'an issuer that is not trusted',
    'query.trusted_authorities',
    'not_run: issuer.trusted did not pass',
    issuedBy(() => ({ chain: strangers })),
    asked(AUTHORITIES),
  ],
  [
    'an issuer that is not trusted',
    'status.valid',
    'not_run: issuer.trusted did not pass',
    issuedBy(() => ({ chain: strangers })),
  ],
  ['the authority', 'query.trusted_authorities', 'passed', underAuthority, asked(AUTHORITIES)],
  [
    'the authority, and nobody trusted',
    'query.trusted_authorities',
    'passed: its certificates say so; without trust anchors (issuerTrustAnchors) nobody vouches for them',
    underAuthority,
    (good) => ({ ...asked(AUTHORITIES)(good), trustAnchors: undefined }),
  ],
  [
    'the authority, and a certificate that is merely sent along',
    'query.trusted_authorities',
    /^passed: its certificates say so/,
    issuedBy(({ ca, issuerKey }) => ({
      chain: [certify(ca, issuerKey, { authorityKeyId: CA_KEY_ID }), ca.der, strangers[1] ?? new Uint8Array()],
    })),
    (good) => ({ ...asked(AUTHORITIES)(good), trustAnchors: undefined }),
  ],
  [
    'the authority without its certificate, and nobody trusted',
    'query.trusted_authorities',
    /^failed: no certificate above that of the issuer/,
    issuedBy(({ ca, issuerKey }) => ({ chain: [certify(ca, issuerKey, { authorityKeyId: CA_KEY_ID })] })),
    (good) => ({ ...asked(AUTHORITIES)(good), trustAnchors: undefined }),
  ],
  [
    'another authority',
    'query.trusted_authorities',
    'failed: no certificate above that of the issuer is one of trusted_authorities',
    same,
    asked(AUTHORITIES),
  ],
  ['the claims', 'query.claims', 'passed', same],
  ['no claims', 'query.claims', /^failed: \S/, noClaims],
  ['no claims', 'query.values', 'not_run: query.claims did not pass', noClaims],
  [
    'wrong disclosures',
    'query.claims',
    'not_run: disclosures.valid did not pass',
    () => ({ disclosuresProblem: 'twice' }),
  ],
  ['the values', 'query.values', 'passed', same],
]

/** Returns the context for a format in which every question makes sense. */
function withAllAsked({ format }: PresentationCheckContext): Partial<PresentationCheckContext> {
  return { format: { ...format, notApplicableReasons: {} } }
}

describe('of a presentation', () => {
  const rows = [...holder, ...issuer, ...others].map(([what, id, answer, changed, asking = same]) => ({
    what,
    id,
    answer,
    changed,
    asking,
  }))
  it.each(rows)('$what: $id says $answer', async ({ id, answer, changed, asking }) => {
    const said = await answerOf(id, changed?.(evidence), asking(context))
    if (typeof answer === 'string') expect(said).toBe(answer)
    else expect(said).toMatch(answer)
  })

  it('an issuer that is not trusted, with what can be done about it', async () => {
    const said = await answerOf('issuer.trusted', { issuer: { ...evidence.issuer, chain: strangers } }, {})
    expect(said).toMatch(/^failed: \S.*\. To trust it, put certificate SHA-256 [0-9a-f]{64} or its CA's into/)
    expect(said).toContain(fingerprintOfFirst())
  })

  /** Returns the check and the cause of each line of the log, where a library refuses the certificate `brokenKey`. */
  async function loggedCauses(changed: Partial<Evidence>, asking: Partial<PresentationCheckContext>): Promise<unknown> {
    const lines: string[] = []
    const log = { logger: pino({}, { write: (line: string) => void lines.push(line) }), requestId: 'a-request' }
    const given = {
      ...context,
      ...asking,
      parseCertificate: (der: Uint8Array) => (der === brokenKey ? malformed('its key', new RangeError()) : parse(der)),
    }
    const findIssuerPath = createIssuerPathFinder(given)
    await runChecks(evidenceChecks, withChain({ ...evidence, ...changed }, given), { ...given, findIssuerPath }, log)
    return lines.map((line) => {
      const { check, cause } = JSON.parse(line) as { readonly check: string; readonly cause: { readonly name: string } }
      return [check, cause.name]
    })
  }
  const brokenKey = new Uint8Array([1])
  const parse = parseCertificate

  it('whose chain has a certificate that cannot be read: the log has the error of the library', async () => {
    const issuer = { ...evidence.issuer, chain: [...evidence.issuer.chain, brokenKey] }
    expect(await loggedCauses({ issuer }, {})).toEqual([['issuer.trusted', 'RangeError']])
  })

  it('whose status list has a certificate that cannot be read: the log has the error of the library', async () => {
    const list = { chain: [brokenKey] } as unknown as FetchedStatusList
    const status = {
      ...context.status,
      loadList: () =>
        Promise.resolve({
          list,
          fetchedAt: context.now,
          responseBytes: 1,
          isCached: false,
          markVerified: () => undefined,
        }),
    }
    const reference = { status_list: { idx: 1, uri: 'https://issuer.example/list' } }
    expect(await loggedCauses({ status: reference }, { status })).toEqual([['status.valid', 'RangeError']])
  })

  it('that cannot be read, why', async () => {
    const [{ outcome, detail } = {}] = await runChecks(readingChecks, { problem: 'it is cut off' }, context, silentLog)
    expect([outcome, detail]).toEqual(['failed', 'it is cut off'])
    expect((await runChecks(readingChecks, { evidence }, context, silentLog))[0]?.outcome).toBe('passed')
  })
})

describe('of a response', () => {
  const asked = (change: object): ResponseCheckContext => ({
    query: readDcqlQuery({
      credentials: [
        { ...dcqlQuery.credentials[0], id: 'one' },
        { ...dcqlQuery.credentials[0], id: 'more', multiple: true },
      ],
      credential_sets: [{ options: [['one']] }, { options: [['more']], required: false }],
    }),
    state: 'state',
    binding: { recipient: { responseUri: 'https://verifier.example/response' } },
    transactions: [],
    ...change,
  })
  const byBrowser = { binding: { recipient: { origin: 'https://shop.example' } } }
  const approving = (id: string) => ({
    transactions: [{ text: '', type: 'payment', credentialIds: [id], content: {} }],
  })
  const presented = (counts: Readonly<Record<string, number>>): Partial<ResponseEvidence> => ({
    counts: new Map(Object.entries(counts)),
  })
  it.each<readonly [string, string, string, Partial<ResponseEvidence>, object]>([
    ['the state', 'presentation.session', 'passed', {}, {}],
    [
      'no state',
      'presentation.session',
      'passed: the response carries no state; the proof of each holder says whether it is for this session',
      { state: undefined },
      {},
    ],
    ['another state', 'presentation.session', 'failed: state is not the one of the request', { state: 'other' }, {}],
    ...[undefined, 'other'].map(
      (state) =>
        [
          `the browser and the state ${state}`,
          'presentation.session',
          'passed: a response through the browser has no state; it was encrypted to the key of this session, which alone ties a credential without holder binding to it',
          { state },
          byBrowser,
        ] as const,
    ),
    ['one of each', 'query.count', 'passed', presented({ one: 1, more: 1 }), {}],
    ['more where more were asked for', 'query.count', 'passed', presented({ one: 1, more: 2 }), {}],
    ['none where none need be', 'query.count', 'passed', presented({ one: 1 }), {}],
    [
      'too many and too few',
      'query.count',
      'failed: one has 2 presentations, and exactly one was asked for; more has 0 presentations, and at least one was asked for',
      presented({ one: 2, more: 0 }),
      {},
    ],
    ['all that are needed', 'query.complete', 'passed', presented({ one: 1 }), {}],
    ['nothing', 'query.complete', 'failed: the response presents nothing', presented({}), {}],
    [
      'what nobody asked for',
      'query.complete',
      'failed: the response has 1 presentations that no credential query asks for',
      presented({ one: 1, other: 1 }),
      {},
    ],
    ['not what is needed', 'query.complete', 'failed', presented({ more: 1 }), {}],
    ['what approves', 'query.complete', 'passed', presented({ one: 1, more: 1 }), approving('more')],
    [
      'not what approves',
      'query.complete',
      'failed: more was to approve a transaction, and is not there',
      presented({ one: 1 }),
      approving('more'),
    ],
  ])('%s: %s says %s', async (_, id, answer, changed, context) => {
    const evidence: ResponseEvidence = { state: 'state', counts: new Map([['one', 1]]), ...changed }
    const { outcome, detail } =
      (await runChecks(responseChecks, evidence, asked(context), silentLog)).find((each) => each.id === id) ?? {}
    const said = detail === undefined ? `${outcome}` : `${outcome}: ${detail}`
    if (answer === 'failed') expect(said).toMatch(/^failed: \S/)
    else expect(said).toBe(answer)
  })
})
