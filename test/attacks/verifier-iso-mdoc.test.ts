/**
 * Attacks on responses by `org-iso-mdoc`: documents that were signed for something else, responses that were encrypted
 * for something else, and documents that nobody asked for.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Cbor } from '../../src/codec/cbor.ts'
import { type JsonObject, stringMemberOf } from '../../src/codec/json.ts'
import type { Binding } from '../../src/credential/format.ts'
import { formatOf } from '../../src/credential/formats.ts'
import { ISO_MDOC, type IsoMdocRecipient } from '../../src/protocol/iso-mdoc.ts'
import { failedChecks, type VerificationReport } from '../../src/verifier/verification.ts'
import {
  asRequestObject,
  fetchPageRequest,
  ORIGIN,
  postCredential,
  SIGNED,
  type StartedPage,
  startPageSession,
} from '../support/digital-credentials.ts'
import { encryptedResponse } from '../support/encryption.ts'
import type { World } from '../support/forge.ts'
import { encryptDeviceResponse, joinDocuments } from '../support/iso-mdoc.ts'
import {
  bindingOf,
  mdocConfiguration,
  mdocDataset,
  mdocProfile,
  mdocQuery,
  NAMESPACE,
  startMdocWorld,
} from '../support/mdoc.ts'
import { VERIFIER_URL } from '../support/services.ts'
import { bindingTo, dcqlQuery, fetchRequestObject, issueCredential, postForm, statusOf } from '../support/wire.ts'
import { expectRefusal, type SentPresentation } from './attack.ts'

type Bound = Binding & { readonly at: Date }

const EVIL = 'https://evil.example'
const PID = 'eu.europa.ec.eudi.pid.1'
const path = [NAMESPACE, 'given_name']
const bothQueries = {
  credentials: [
    ...mdocQuery.credentials,
    { id: 'pid', format: 'mso_mdoc', meta: { doctype_value: PID }, claims: [{ path }] },
  ],
}

/** A session whose page asks by this protocol, and what a document for it is bound to. */
interface Session {
  readonly started: StartedPage
  readonly unsigned: JsonObject
  readonly recipient: IsoMdocRecipient
  readonly bound: Bound
}

describe('attacks on responses by org-iso-mdoc', () => {
  let world: World
  let pid: string
  beforeAll(async () => {
    world = await startMdocWorld()
    pid = await issueCredential(world.services, world.holder, { ...mdocConfiguration, doctype: PID }, mdocDataset)
  })
  afterAll(() => world.services.close())

  async function start(query: unknown = mdocQuery): Promise<Session> {
    const started = await startPageSession(world.services, query)
    const { body, unsigned } = await fetchPageRequest(world.services, started)
    const entry = body.digital.requests.find(({ protocol }) => protocol === ISO_MDOC)
    const recipient = { origin: ORIGIN, encryptionInfo: stringMemberOf(entry?.data, 'encryptionInfo') ?? '' }
    return { started, unsigned, recipient, bound: { ...bindingTo('', '', world.services.clock.now), recipient } }
  }

  async function present(bound: Bound, credential = world.credential): Promise<string> {
    return (
      (await formatOf('mso_mdoc')?.present(credential, [path, [NAMESPACE, 'family_name']], bound, world.holder)) ?? ''
    )
  }

  async function sent({ started }: Session, response: Response): Promise<SentPresentation> {
    const report = await statusOf(world.services, VERIFIER_URL, started.session_id)
    return { status: response.status, body: await response.json(), report }
  }

  /** Posts the documents of presentations, encrypted as the session asks. */
  async function post(
    session: Session,
    presentations: readonly string[],
    change: Readonly<Record<string, Cbor>> = {},
  ): Promise<SentPresentation> {
    const { encryptionInfo } = session.recipient
    const response = encryptDeviceResponse(joinDocuments(presentations, change), encryptionInfo, session.recipient)
    return sent(session, await postResponse(session, response))
  }

  const postResponse = ({ started }: Session, response: string) =>
    postCredential(world.services, started, { protocol: ISO_MDOC, data: { response } })

  it('nothing is wrong with a document for the page', async () => {
    const session = await start()
    const { status, body, report } = await post(session, [await present(session.bound)])
    expect([status, body]).toEqual([200, {}])
    expect(report).toMatchObject({ status: 'VERIFICATION_SUCCEEDED', response_mode: ISO_MDOC })
  })

  it('nothing is wrong with two documents in any order', async () => {
    const session = await start(bothQueries)
    const documents = [await present(session.bound, pid), await present(session.bound)]
    const { report } = await post(session, documents)
    expect(report).toMatchObject({ status: 'VERIFICATION_SUCCEEDED' })
    expect(Object.keys((report.result as VerificationReport).credentials)).toEqual(['licence', 'pid'])
  })

  const boundElsewhere: readonly (readonly [string, (session: Session, other: Session) => Partial<Bound>])[] = [
    ['a page of another origin', ({ recipient }) => ({ recipient: { ...recipient, origin: EVIL } })],
    ['another session of the same page', (_, other) => other.bound],
    ['OpenID4VP through the browser', ({ unsigned }) => boundToOpenid4vp(unsigned)],
  ]
  it.each(boundElsewhere)('The document was signed for %s.', async (_, bind) => {
    const [session, other] = [await start(), await start()]
    const presentation = await present({ ...session.bound, ...bind(session, other) })
    expectRefusal(await post(session, [presentation]), mdocProfile, { fails: 'holder.signature' })
  })

  it('The document was signed for the link of the same session.', async () => {
    const session = await start()
    const request = await fetchRequestObject(world.services, session.started.session_id)
    const presentation = await present(bindingOf(request, world.services.clock.now))
    expectRefusal(await post(session, [presentation]), mdocProfile, { fails: 'holder.signature' })
  })

  it('A document for org-iso-mdoc is sent by OpenID4VP through the browser, or by the link.', async () => {
    const throughBrowser = await start()
    const vp_token = { licence: [await present(throughBrowser.bound)] }
    const response = await encryptedResponse(asRequestObject(throughBrowser.unsigned), { vp_token })
    const credential = { protocol: SIGNED, data: { response } }
    const answer = await postCredential(world.services, throughBrowser.started, credential)
    expectRefusal(await sent(throughBrowser, answer), mdocProfile, { fails: 'holder.signature' })

    const byLink = await start()
    const request = await fetchRequestObject(world.services, byLink.started.session_id)
    const members = { vp_token: { licence: [await present(byLink.bound)] }, state: request.state }
    const linkAnswer = await postForm(world.services, request.response_uri, {
      response: await encryptedResponse(request, members),
    })
    expectRefusal(await sent(byLink, linkAnswer), mdocProfile, { fails: 'holder.signature' })
  })

  const wrongDocuments: readonly (readonly [string, string, (licence: string, pid: string) => readonly string[]])[] = [
    ['no document', 'query.complete', () => []],
    ['the same document twice', 'query.count', (licence) => [licence, licence]],
    ['a document that nobody asked for', 'query.complete', (licence, other) => [licence, other]],
    ['another document than the one asked for', 'query.complete', (_, other) => [other]],
  ]
  it.each(wrongDocuments)('The wallet sends %s.', async (_, fails, choose) => {
    const session = await start()
    const documents = choose(await present(session.bound), await present(session.bound, pid))
    const { status, report } = await post(session, documents)
    expect([status, report.status]).toEqual([400, 'VERIFICATION_FAILED'])
    expect(failedChecks(report.result as VerificationReport)).toEqual([fails])
  })

  describe('a response that is refused, so that the session stays open:', () => {
    const refused: readonly (readonly [string, (session: Session, other: Session) => Promise<string>, RegExp])[] = [
      [
        'it is encrypted for a page of another origin, which passed it on',
        async ({ recipient, bound }) => encryptFor(recipient, { ...recipient, origin: EVIL }, await present(bound)),
        /cannot be decrypted/,
      ],
      [
        'it is for another session',
        async (_, { recipient, bound }) => encryptFor(recipient, recipient, await present(bound)),
        /cannot be decrypted/,
      ],
      ['it is not encrypted', async ({ bound }) => present(bound), /the EncryptedResponse is not a CBOR array/],
      ['it is a JWE', () => Promise.resolve('a.b.c.d.e'), /not base64url/],
      [
        'its content has an error for status',
        async ({ recipient, bound }) => encryptFor(recipient, recipient, await present(bound), { status: 10 }),
        /status of the DeviceResponse is not 0/,
      ],
      [
        'its content is of another version',
        async ({ recipient, bound }) => encryptFor(recipient, recipient, await present(bound), { version: '2.0' }),
        /of version 2.0/,
      ],
    ]
    it.each(refused)('%s', async (_, make, says) => {
      const [session, other] = [await start(), await start()]
      const answer = await postResponse(session, await make(session, other))
      const body = (await answer.json()) as JsonObject
      expect([answer.status, body.error]).toEqual([400, 'invalid_request'])
      expect(body.error_description).toMatch(says)
      expect((await post(session, [await present(session.bound)])).report.status).toBe('VERIFICATION_SUCCEEDED')
    })
  })

  it('a session takes one response', async () => {
    const session = await start()
    await post(session, [await present(session.bound)])
    const again = await post(session, [await present(session.bound)])
    expect([again.status, again.body]).toMatchObject([400, { error_description: 'this session has had its response' }])
  })

  it('the protocol is refused where it was not offered', async () => {
    const { started } = await start(dcqlQuery)
    const answer = await postCredential(world.services, started, { protocol: ISO_MDOC, data: { response: 'a' } })
    expect([answer.status, await answer.json()]).toMatchObject([400, { error: 'invalid_request' }])
  })

  /** Returns what a document for OpenID4VP through the browser is bound to. */
  function boundToOpenid4vp(unsigned: JsonObject): Partial<Bound> {
    return { ...bindingOf(asRequestObject(unsigned), world.services.clock.now), recipient: { origin: ORIGIN } }
  }

  /** Encrypts to the key of one session, for a recipient. */
  function encryptFor(
    { encryptionInfo }: IsoMdocRecipient,
    recipient: IsoMdocRecipient,
    presentation: string,
    change: Readonly<Record<string, Cbor>> = {},
  ): string {
    return encryptDeviceResponse(joinDocuments([presentation], change), encryptionInfo, recipient)
  }
})
