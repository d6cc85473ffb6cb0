/**
 * Attacks on the name of the issuer: a trusted issuer, or whoever got a certificate below an anchor, signs a credential
 * that says that somebody else issued it. The report names the certificate; what the credential says of itself stands
 * apart.
 */
import { createHash } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { CredentialReport, VerificationReport } from '../../src/verifier/verification.ts'
import {
  type CertificateOptions,
  certify,
  inProfile,
  makeForgery,
  putTogether,
  startWorld,
  type World,
  w3cOf,
} from '../support/forge.ts'
import { profiles, queryFor, usualProfile } from '../support/profiles.ts'
import { VERIFIER_URL } from '../support/services.ts'
import { postForm, startVerification, statusOf } from '../support/wire.ts'

const NAME = 'https://issuer.example'
const OTHER = 'https://government.example'

const worlds: Record<'usual' | 'match' | 'open', World[]> = { usual: [], match: [], open: [] }
beforeAll(async () => {
  const settings = {
    usual: {},
    match: { issuerIdentifier: 'match' },
    open: { issuerTrustAnchors: undefined },
  }
  for (const [kind, verifier] of Object.entries(settings) as [keyof typeof worlds, object][]) {
    const world = await startWorld({ verifier: { ...verifier } })
    for (const profile of profiles) worlds[kind].push(await inProfile(world, profile))
  }
})
afterAll(async () => {
  for (const [world] of Object.values(worlds)) await world?.services.close()
})

interface Named {
  readonly sessionId: string
  readonly report: CredentialReport
  readonly result: VerificationReport
  /** Outcome and detail of `issuer.identifier`. */
  readonly said: string
  readonly certificate: Buffer
}

/** Returns the report on a credential that names `name` as its issuer, with a certificate for `names`. */
async function named(world: World, name: string, names: CertificateOptions): Promise<Named> {
  const { services, ca, issuerKey, profile } = world
  const { sessionId, request } = await startVerification(services, { credentials: [queryFor(profile)] })
  const forgery = await makeForgery(world, request)
  const certificate = certify(ca, issuerKey, names)
  forgery.header.x5c = [certificate.toString('base64')]
  forgery.payload.iss = name
  if (profile.w3c) w3cOf(forgery).issuer = name
  const vpToken = JSON.stringify({ card: [await putTogether(forgery)] })
  await postForm(services, request.response_uri, { vp_token: vpToken, state: request.state })
  const { result } = (await statusOf(services, VERIFIER_URL, sessionId)) as unknown as { result: VerificationReport }
  const [report] = result.credentials.card ?? []
  const check = report?.checks.find(({ id }) => id === 'issuer.identifier')
  if (report === undefined || check === undefined) throw new Error('no report')
  return { sessionId, report, result, said: `${check.outcome}: ${check.detail ?? ''}`, certificate }
}

const worldOf = (kind: keyof typeof worlds, format: string): World => {
  const found = worlds[kind].find(({ profile }) => profile.format === format)
  if (found === undefined) throw new Error(`no world for ${format}`)
  return found
}
const usual = () => worldOf('usual', usualProfile.format)

type Row = readonly [what: string, name: string, names: CertificateOptions, shown: string | undefined]

const disagreeing: readonly Row[] = [
  ['is that of another, and the certificate has no names', OTHER, { uris: [] }, OTHER],
  ['is that of another, and the certificate has the name of a person', OTHER, { uris: ['mailto:a@b.example'] }, OTHER],
  ['is that of another', OTHER, { dnsNames: ['issuer.example'] }, OTHER],
  ['begins with that of the certificate', `${NAME}.evil.example`, { uris: [NAME] }, `${NAME}.evil.example`],
  [
    'is a script with the host of the certificate',
    'javascript://issuer.example/%0aa',
    { dnsNames: ['issuer.example'] },
    undefined,
  ],
  [
    'has the host of the certificate behind another',
    `${OTHER}@issuer.example`,
    { dnsNames: ['issuer.example'] },
    undefined,
  ],
  ['begins with blanks', `  ${NAME}`, { dnsNames: ['issuer.example'] }, undefined],
  [
    'is in full-width letters',
    'https://\uff49\uff53\uff53\uff55\uff45\uff52.example',
    { dnsNames: ['issuer.example'] },
    undefined,
  ],
  ['turns the direction of writing', `${NAME}/\u202e`, { dnsNames: ['issuer.example'] }, undefined],
  ['is an address that is a DNS name', 'https://192.0.2.1', { dnsNames: ['192.0.2.1'] }, 'https://192.0.2.1'],
  ['is plain text', 'The Government', { dnsNames: ['issuer.example'] }, undefined],
]

describe('the name of an issuer', () => {
  it.each(disagreeing)('is a warning and not who issued it where it %s', async (_, name, names, shown) => {
    const { report, result, said, certificate } = await named(usual(), name, names)
    expect(said).toMatch(
      /^warning: the issuer is .*, and the certificate CN=issuer\.localhost is for .*; accepted, as the setting issuerIdentifier/,
    )
    expect(result).toMatchObject({ verified: true, trust: 'anchors' })
    expect(report.issuer).toBe(shown)
    expect(report.issuer_certificate).toMatchObject({
      subject: 'CN=issuer.localhost',
      sha256: createHash('sha256').update(certificate).digest('hex'),
      anchor: { subject: 'CN=Example CA', sha256: createHash('sha256').update(usual().ca.der).digest('hex') },
    })
  })

  it.each(disagreeing)('fails the verification by issuerIdentifier "match" where it %s', async (_, name, names) => {
    const { report, result, said } = await named(worldOf('match', usualProfile.format), name, names)
    expect(said).toMatch(/^failed: the issuer is /)
    expect(result.verified).toBe(false)
    expect(Object.keys(report)).toEqual(['format', 'checks'])
  })

  it.each<[string, string, CertificateOptions]>([
    ['a host of the certificate', `${NAME}/tenant`, { dnsNames: ['issuer.example'] }],
    ['a URI of the certificate', 'did:web:issuer.example', { uris: ['did:web:issuer.example'] }],
    ['an IP address of the certificate', 'https://192.0.2.1', { dnsNames: [], ipAddresses: ['192.0.2.1'] }],
    ['an IP address of version 6', 'https://[2001:db8::1]/a', { dnsNames: [], ipAddresses: ['2001:db8:0::1'] }],
  ])('passes, and is shown, where it is %s', async (_, name, names) => {
    for (const kind of ['usual', 'match'] as const) {
      const { report, said } = await named(worldOf(kind, usualProfile.format), name, names)
      expect([said, report.issuer]).toEqual(['passed: ', name])
    }
  })

  it.each(profiles.map(({ format }) => format))('stands apart from the certificate in %s', async (format) => {
    const { report, said } = await named(worldOf('usual', format), OTHER, { uris: [NAME] })
    expect(said).toMatch(/^warning: /)
    expect(report).toMatchObject({ issuer: OTHER, issuer_certificate: { subject: 'CN=issuer.localhost' } })
    const refused = await named(worldOf('match', format), OTHER, { uris: [NAME] })
    expect(refused.said).toMatch(/^failed: /)
  })

  it('stays in the report after erasure only where the certificate has it', async () => {
    const world = await inProfile(await startWorld({}), usualProfile)
    const { services } = world
    const reports = async (name: string, names: CertificateOptions) => {
      const { sessionId, report } = await named(world, name, names)
      return { sessionId, issuer: report.issuer }
    }
    const own = await reports(NAME, { uris: [NAME] })
    const other = await reports(OTHER, { uris: [NAME] })
    expect([own.issuer, other.issuer]).toEqual([NAME, OTHER])
    services.clock.now = new Date(services.clock.now.getTime() + 86_400_000)
    await services.runTasks()
    const left = async (sessionId: string) => {
      const { result } = (await statusOf(services, VERIFIER_URL, sessionId)) as unknown as {
        result: VerificationReport
      }
      return result.credentials.card?.[0]
    }
    expect(await left(own.sessionId)).toMatchObject({ issuer: NAME, issuer_certificate: expect.anything() as object })
    expect(await left(other.sessionId)).not.toHaveProperty('issuer')
    await services.close()
  })

  it('is the word of the credential alone where no anchors are configured', async () => {
    const { report, result } = await named(worldOf('open', usualProfile.format), OTHER, { uris: [OTHER] })
    expect(result).toMatchObject({ verified: true, trust: 'open' })
    expect(report.issuer_certificate).toEqual({ subject: 'CN=issuer.localhost', sha256: expect.any(String) as string })
  })
})
