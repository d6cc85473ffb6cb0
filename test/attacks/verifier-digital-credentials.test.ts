/**
 * Attacks on responses through the browser (the Digital Credentials API): presentations that were made for something
 * else, in each format, and what a page might post. A presentation for the link is none for the page, nor the other way
 * round.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Binding } from '../../src/credential/format.ts'
import { formatOf } from '../../src/credential/formats.ts'
import { readPublicJwk, thumbprint } from '../../src/keys/jwk.ts'
import type { VerificationReport } from '../../src/verifier/verification.ts'
import {
  asRequestObject,
  fetchPageRequest,
  ORIGIN,
  postCredential,
  SIGNED,
  type StartedPage,
  startPageSession,
  UNSIGNED,
} from '../support/digital-credentials.ts'
import { encryptedResponse, responseKey } from '../support/encryption.ts'
import { inProfile, startWorld, type World } from '../support/forge.ts'
import { mdocConfiguration, mdocDataset, mdocProfile } from '../support/mdoc.ts'
import { profiles, queryFor } from '../support/profiles.ts'
import { VERIFIER_URL } from '../support/services.ts'
import {
  bindingTo,
  fetchRequestObject,
  issueCredential,
  postForm,
  type RequestObject,
  startVerification,
  statusOf,
} from '../support/wire.ts'
import { expectRefusal, type SentPresentation } from './attack.ts'

type Bound = Binding & { readonly at: Date }

interface BoundElsewhere {
  readonly attack: string
  /** Replaces what the presentation is bound to. `link` is what one for the link is bound to. */
  readonly bind: (link: Bound) => Partial<Bound>
  /** The check that fails where the holder's proof states what it is bound to; the signature fails of an mdoc. */
  readonly fails: 'holder.audience' | 'holder.nonce'
}

const boundElsewhere: readonly BoundElsewhere[] = [
  {
    attack: 'A presentation for the link of the same session is posted by the page.',
    bind: (link) => link,
    fails: 'holder.audience',
  },
  {
    attack: 'A page of another origin passed the request on, and the response back.',
    bind: () => ({ audience: 'origin:https://evil.example', recipient: { origin: 'https://evil.example' } }),
    fails: 'holder.audience',
  },
  {
    attack: 'The presentation is for a page of the same host at another port.',
    bind: () => ({ audience: `origin:${ORIGIN}:8443`, recipient: { origin: `${ORIGIN}:8443` } }),
    fails: 'holder.audience',
  },
  {
    attack: 'The presentation is for the page without TLS.',
    bind: () => ({ audience: 'origin:http://shop.example', recipient: { origin: 'http://shop.example' } }),
    fails: 'holder.audience',
  },
  {
    attack: 'The presentation is for an address of the page, and not for its origin.',
    bind: () => ({ audience: `origin:${ORIGIN}/`, recipient: { origin: `${ORIGIN}/` } }),
    fails: 'holder.audience',
  },
  {
    attack: 'The prefix is where it should not be: an mdoc has the origin with it, and a JWT without.',
    bind: () => ({ audience: ORIGIN, recipient: { origin: `origin:${ORIGIN}` } }),
    fails: 'holder.audience',
  },
  {
    attack: 'The presentation was made for another session of the same page.',
    bind: () => ({ nonce: 'a nonce of another session' }),
    fails: 'holder.nonce',
  },
]

const keysElsewhere: readonly (readonly [string, Partial<Bound>])[] = [
  ['The device signed for a response that is encrypted to another key.', { encryptionKeyThumbprint: Buffer.alloc(32) }],
  ['The device signed for a response that is not encrypted.', { encryptionKeyThumbprint: undefined }],
]

describe('attacks on responses through the browser', () => {
  let usual: World
  beforeAll(async () => {
    usual = await startWorld()
  })
  afterAll(() => usual.services.close())

  describe.each([...profiles, mdocProfile])('with a credential of the format $format', (profile) => {
    let world: World
    beforeAll(async () => {
      world = profile === mdocProfile ? await withMdoc(usual) : await inProfile(usual, profile)
    })
    const rowOf = (fails: string) => ({ fails: profile === mdocProfile ? 'holder.signature' : fails })

    it('nothing is wrong with a presentation for the page, by either protocol, nor with one for the link', async () => {
      for (const protocol of [SIGNED, UNSIGNED]) {
        const { status, body, report } = await send(world, ({ page }) => page.post(page.bound, protocol))
        expect([status, body]).toEqual([200, {}])
        expect(report).toMatchObject({ status: 'VERIFICATION_SUCCEEDED', response_mode: 'dc_api.jwt' })
        expect(sessionCheckOf(report)).toMatchObject({
          outcome: 'passed',
          detail: matching(/no state; .* the key of this session/),
        })
      }
      const { report } = await send(world, ({ link }) => link.post(link.bound))
      const response_mode = profile === mdocProfile ? 'direct_post.jwt' : 'direct_post'
      expect(report).toMatchObject({ status: 'VERIFICATION_SUCCEEDED', response_mode })
    })

    it.each(boundElsewhere)('$attack', async ({ bind, fails }) => {
      const sent = await send(world, ({ page, link }) => page.post({ ...page.bound, ...bind(link.bound) }))
      expectRefusal(sent, profile, rowOf(fails))
    })

    it('A presentation for the page is posted as a response of the link.', async () => {
      expectRefusal(await send(world, ({ page, link }) => link.post(page.bound)), profile, rowOf('holder.audience'))
    })

    if (profile === mdocProfile) {
      it.each(keysElsewhere)('%s', async (_, change) => {
        const sent = await send(world, ({ page }) => page.post({ ...page.bound, ...change }))
        expectRefusal(sent, profile, rowOf('holder.signature'))
      })
    }
  })

  describe('a page posts', () => {
    let page: StartedPage
    let response: string
    beforeAll(async () => {
      const session = await startBoth(usual)
      page = session.started
      response = await session.page.encrypt(session.page.bound)
    })

    const posts: readonly (readonly [string, (jwe: string) => unknown, RegExp])[] = [
      ['a protocol that was not offered', (jwe) => credential(jwe, 'openid4vp-v1-multisigned'), /protocol must be one/],
      ['the protocol of a draft', (jwe) => credential(jwe, 'openid4vp'), /protocol must be one/],
      ['no protocol', (jwe) => ({ data: { response: jwe } }), /protocol/],
      ['a protocol that is no text', (jwe) => ({ ...credential(jwe), protocol: [SIGNED] }), /protocol/],
      ['no data', () => ({ protocol: SIGNED }), /data/],
      ['data that is text', (jwe) => ({ protocol: SIGNED, data: JSON.stringify({ response: jwe }) }), /data/],
      ['data that is null', () => ({ protocol: SIGNED, data: null }), /data/],
      ['empty data', () => ({ protocol: SIGNED, data: {} }), /neither response/],
      [
        'an unencrypted vp_token',
        () => ({ protocol: SIGNED, data: { vp_token: { card: ['x'] } } }),
        /neither response/,
      ],
      ['a response that is an object', () => ({ protocol: SIGNED, data: { response: {} } }), /response/],
      ['a response that is no JWE', () => credential('a.b.c'), /five parts/],
      ['an error that is an object', () => ({ protocol: SIGNED, data: { error: {} } }), /error/],
      [
        'a description of an error that is no text',
        () => ({ protocol: SIGNED, data: { error: 'access_denied', error_description: { text: 'no' } } }),
        /data.error_description/,
      ],
      [
        'an error by a protocol that was not offered for this query',
        () => ({ protocol: 'org-iso-mdoc', data: { error: 'access_denied' } }),
        /org-iso-mdoc was not offered in the request/,
      ],
      ['an array', (jwe) => [credential(jwe)], /object/],
      ['a text', () => '"x"', /object/],
      ['what is no JSON', () => '{', /JSON/],
      ['a member twice', () => '{"protocol":"a","protocol":"b"}', /twice/],
      ['too deep an object', () => `{"data":${'['.repeat(200)}${']'.repeat(200)}}`, /deeper/],
    ]
    it.each(posts)('%s: it is refused, and the session stays open', async (_, make, says) => {
      const answer = await postCredential(usual.services, page, make(response))
      const body = (await answer.json()) as { error: string; error_description: string }
      expect([answer.status, body.error]).toEqual([400, 'invalid_request'])
      expect(body.error_description).toMatch(says)
      expect(await statusOf(usual.services, VERIFIER_URL, page.session_id)).toMatchObject({
        status: 'STARTED',
        problem: { endpoint: 'digital-credentials', error: 'invalid_request' },
      })
    })

    it('a form, or too much: it is refused', async () => {
      const form = await postForm(usual.services, page.digital_credentials_uri, { response })
      expect([form.status, await form.json()]).toMatchObject([400, { error: 'invalid_request' }])
      const large = await postCredential(usual.services, page, credential('x'.repeat(2 ** 19)))
      expect([large.status, await large.json()]).toMatchObject([413, { error: 'request_too_large' }])
    })

    it('a response to the key of another session: it is refused', async () => {
      const { page: other } = await startBoth(usual)
      const answer = await postCredential(usual.services, page, credential(await other.encrypt(other.bound)))
      expect([answer.status, await answer.json()]).toMatchObject([400, { error_description: matching(/kid is not/) }])
    })

    it('a good response afterwards: it is taken', async () => {
      expect((await postCredential(usual.services, page, credential(response))).status).toBe(200)
      expect(await statusOf(usual.services, VERIFIER_URL, page.session_id)).toMatchObject({
        status: 'VERIFICATION_SUCCEEDED',
      })
    })
  })

  it('a response that comes first by one way is the last by both', async () => {
    for (const [first, response_mode] of [
      ['page', 'dc_api.jwt'],
      ['link', 'direct_post'],
    ] as const) {
      const session = await startBoth(usual)
      expect((await session[first].post(session[first].bound)).status).toBe(200)
      for (const { bound, post } of [session.page, session.link]) {
        const again = await post(bound)
        const had = { error: 'invalid_request', error_description: 'this session has had its response' }
        expect([again.status, await again.json()]).toEqual([400, had])
      }
      const { session_id: sessionId, digital_credentials_uri: uri } = session.started
      expect(await statusOf(usual.services, VERIFIER_URL, sessionId)).toMatchObject({ response_mode })
      expect((await usual.services.fetch(uri)).status).toBe(410)
      const row = await usual.services.verifierStore.get('verification_session', sessionId)
      expect(row?.value.encryptionKey).toBe(undefined)
    }
  })

  it('a session without an origin has no request for a page, and takes no response from one', async () => {
    const { request, sessionId } = await startVerification(usual.services)
    const uri = request.response_uri.replace('authorization-response', 'digital-credentials')
    const page = { session_id: sessionId, digital_credentials_uri: uri }
    const sent = [usual.services.fetch(uri), postCredential(usual.services, page, credential('a.b.c.d.e'))]
    for (const answer of await Promise.all(sent)) {
      const error_description = 'this session was started without an origin'
      expect([answer.status, await answer.json()]).toEqual([404, { error: 'not_found', error_description }])
    }
    expect(await statusOf(usual.services, VERIFIER_URL, sessionId)).toMatchObject({ status: 'STARTED' })
  })

  it('a session without a link has no request object, and takes no response of a link', async () => {
    const page = await startPageSession(usual.services, undefined, { link: false })
    expect(page).not.toHaveProperty('request_uri')
    const endpoint = (name: string) => `${VERIFIER_URL}/presentation/oid4vp/${name}/${page.session_id}`
    const fetched = await usual.services.fetch(endpoint('authorization-request'))
    expect([fetched.status, await fetched.json()]).toMatchObject([404, { error_description: matching(/has no link/) }])
    const { unsigned } = await fetchPageRequest(usual.services, page)
    const request = asRequestObject(unsigned)
    const vp_token = { card: [await present(usual, boundToPage(request, usual))] }
    const response = await encryptedResponse(request, { vp_token })
    const forms = [
      ['authorization-response', { vp_token: JSON.stringify(vp_token) }],
      ['authorization-response', { error: 'access_denied' }],
      ['encrypted-authorization-response', { response }],
    ] as const
    for (const [name, form] of forms) {
      const answer = await postForm(usual.services, endpoint(name), form)
      expect([answer.status, await answer.json()]).toMatchObject([
        400,
        { error_description: matching(/by dc_api.jwt only/) },
      ])
    }
    expect((await postCredential(usual.services, page, credential(response))).status).toBe(200)
  })

  it('a session that has expired takes no response, and has no request', async () => {
    const { started, page } = await startBoth(usual)
    const response = await page.encrypt(page.bound)
    const { clock } = usual.services
    const { now } = clock
    clock.now = new Date(now.getTime() + 600_000)
    try {
      for (const answer of [
        await usual.services.fetch(started.digital_credentials_uri),
        await postCredential(usual.services, started, credential(response)),
      ]) {
        const error = { error: 'gone', error_description: 'this session has expired' }
        expect([answer.status, await answer.json()]).toEqual([410, error])
      }
    } finally {
      clock.now = now
    }
  })
})

/** A way of a response: the binding of a right presentation, and how any presentation is posted. */
interface Way {
  readonly bound: Bound
  readonly post: (bound: Bound, protocol?: string) => Promise<Response>
}

interface BothWays {
  readonly started: StartedPage
  readonly page: Way & { readonly encrypt: (bound: Bound) => Promise<string> }
  readonly link: Way
}

/** Starts a session for the credential of the world that takes its response by both ways. */
async function startBoth(world: World): Promise<BothWays> {
  const { services, profile } = world
  const started = await startPageSession(services, { credentials: [queryFor(profile)] })
  const pageRequest = asRequestObject((await fetchPageRequest(services, started)).unsigned)
  const linkRequest = await fetchRequestObject(services, started.session_id)
  const { state, response_uri: responseUri } = linkRequest
  const isEncrypted = linkRequest.response_mode === 'direct_post.jwt'
  const makeToken = async (bound: Bound) => ({ card: [await present(world, bound)] })
  const encrypt = async (bound: Bound) => encryptedResponse(pageRequest, { vp_token: await makeToken(bound) })
  return {
    started,
    page: {
      bound: boundToPage(pageRequest, world),
      encrypt,
      post: async (bound, protocol) => postCredential(services, started, credential(await encrypt(bound), protocol)),
    },
    link: {
      bound: {
        ...bindingTo(linkRequest.nonce, linkRequest.client_id, services.clock.now),
        recipient: { responseUri },
        encryptionKeyThumbprint: isEncrypted ? keyThumbprint(linkRequest) : undefined,
      },
      post: async (bound) => {
        const vp_token = await makeToken(bound)
        const form = isEncrypted
          ? { response: await encryptedResponse(linkRequest, { vp_token, state }) }
          : { vp_token: JSON.stringify(vp_token), state }
        return postForm(services, responseUri, form)
      },
    },
  }
}

async function send(world: World, post: (session: BothWays) => Promise<Response>): Promise<SentPresentation> {
  const session = await startBoth(world)
  const response = await post(session)
  const report = await statusOf(world.services, VERIFIER_URL, session.started.session_id)
  return { status: response.status, body: await response.json(), report }
}

function boundToPage(request: RequestObject, { services }: World): Bound {
  return {
    ...bindingTo(request.nonce, request.client_id, services.clock.now),
    recipient: { origin: ORIGIN },
    encryptionKeyThumbprint: keyThumbprint(request),
  }
}

function keyThumbprint(request: RequestObject): Uint8Array {
  return Buffer.from(thumbprint(readPublicJwk(responseKey(request))), 'base64url')
}

async function present({ profile, credential: held, holder }: World, bound: Bound): Promise<string> {
  return (await formatOf(profile.format)?.present(held, [[...profile.root, 'given_name']], bound, holder)) ?? ''
}

function credential(response: string, protocol = SIGNED) {
  return { protocol, data: { response } }
}

function sessionCheckOf({ result }: SentPresentation['report']) {
  return (result as VerificationReport).checks.find(({ id }) => id === 'presentation.session')
}

/** Returns what matches a text by a pattern. */
function matching(pattern: RegExp): string {
  return expect.stringMatching(pattern) as string
}

async function withMdoc(world: World): Promise<World> {
  const held = await issueCredential(world.services, world.holder, mdocConfiguration, mdocDataset)
  return { ...world, profile: mdocProfile, credential: held }
}
