/** The messages in docs/explanation are those that the reference wallet and the services send each other. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { planPresentation, sendPresentation } from '../src/wallet/present.ts'
import { receiveOffer } from '../src/wallet/receive.ts'
import { snippetsOf } from './support/documents.ts'
import { type Services, startServices } from './support/services.ts'
import { testWallet } from './support/wallet.ts'
import { declare, startIssuance, startVerification } from './support/wire.ts'

const VCT = 'urn:example.edu:student-card'
const ISSUING = 'docs/explanation/issuing-messages.md'
const VERIFYING = 'docs/explanation/verifying-messages.md'

interface Exchange {
  readonly request: string
  readonly sent: unknown
  readonly status: number
  readonly answer: unknown
}

/** The values that were seen for one page. */
interface Walk {
  readonly link: string
  readonly exchanges: readonly Exchange[]
  /** Header and payload, together, of every JWT in the messages. */
  readonly tokens: readonly object[]
}

let services: Services
const walks = new Map<string, Walk>()
beforeAll(async () => {
  services = await startServices()
  let exchanges: Exchange[] = []
  const recording: typeof globalThis.fetch = async (input, init) => {
    const request = new Request(input instanceof Request ? input : String(input), init)
    const sent = await request.clone().text()
    const response = await services.fetch(input, init)
    const answer = await response.clone().text()
    const { pathname, search } = new URL(request.url)
    const target = `${request.method} ${pathname}${search}`
    exchanges.push({ request: target, sent: bodyOf(sent), status: response.status, answer: bodyOf(answer) })
    return response
  }
  const { wallet } = testWallet(recording, services.clock)
  const id = await declare(services, {
    format: 'dc+sd-jwt',
    vct: VCT,
    credential_metadata: { display: [{ name: 'Student card' }], claims: [{ path: ['given_name'], mandatory: true }] },
  })
  const offer = await startIssuance(services, {
    credential_configurations: [id],
    credential_dataset: { given_name: 'Ada', family_name: 'Lovelace' },
  })
  await receiveOffer(wallet, offer.link)
  walks.set(ISSUING, named({ link: offer.link, exchanges }, offer.sessionId))
  exchanges = []
  const claims = [{ path: ['given_name'] }]
  const query = { credentials: [{ id: 'card', format: 'dc+sd-jwt', meta: { vct_values: [VCT] }, claims }] }
  const asked = await startVerification(services, query)
  await sendPresentation(wallet, await planPresentation(wallet, asked.link))
  walks.set(VERIFYING, named({ link: asked.link, exchanges }, asked.sessionId))
})
afterAll(() => services.close())

/** Returns the walk with SESSION for the session id, in its tokens too. */
function named(walk: Omit<Walk, 'tokens'>, sessionId: string): Walk {
  const text = JSON.stringify({ ...walk, tokens: tokensOf(walk) })
  return JSON.parse(text.replaceAll(sessionId, 'SESSION')) as Walk
}

/** Reads a body as JSON, as the members of a form, or as its text. */
function bodyOf(text: string): unknown {
  if (/^[{[]/.test(text)) return JSON.parse(text) as unknown
  return /^[\w-]+=/.test(text) ? Object.fromEntries(new URLSearchParams(text)) : text
}

/** Tests whether the shown value is the seen one, where … stands for anything. */
function isShown(shown: unknown, seen: unknown): boolean {
  if (shown === '…') return seen !== undefined
  if (typeof shown === 'string' && typeof seen === 'string') {
    const parts = shown.split('…').map((part) => part.replaceAll(/[\\^$.*+?()[\]{}|]/g, '\\$&'))
    return new RegExp(`^${parts.join('[\\s\\S]+')}$`).test(seen)
  }
  if (Array.isArray(shown)) {
    return (
      Array.isArray(seen) && shown.length === seen.length && shown.every((each, index) => isShown(each, seen[index]))
    )
  }
  if (typeof shown !== 'object' || shown === null || typeof seen !== 'object' || seen === null) return shown === seen
  const { '…': more, ...members } = shown as Record<string, unknown>
  const isWhole = more !== undefined || Object.keys(seen).length === Object.keys(members).length
  return (
    isWhole && Object.entries(members).every(([name, value]) => isShown(value, (seen as Record<string, unknown>)[name]))
  )
}

/** Reads a block of a page: request line, what is sent, status, answer. */
function readBlock(code: string): Exchange {
  const [asked = '', answered = ''] = code.trim().split('\n\n')
  const [request = '', ...lines]: readonly string[] = asked.split('\n')
  const [status = '', ...body] = answered.split('\n')
  const isForm = /^[\w-]+=/.test(lines[0] ?? '')
  const form = Object.fromEntries(
    lines.map((line) => [line.split('=')[0] ?? '', line.slice(line.indexOf('=') + 1)] as const),
  )
  const sent = isForm ? form : bodyOf(lines.join('\n'))
  return { request, sent, status: Number(status), answer: bodyOf(body.join('\n')) }
}

function tokensOf(walk: object): object[] {
  const texts = JSON.stringify(walk).matchAll(/(eyJ[\w-]+)\.(eyJ[\w-]+)\.[\w-]+/g)
  const read = (part: string) => JSON.parse(Buffer.from(part, 'base64url').toString()) as object
  return [...texts].map(([, header = '', payload = '']) => ({ ...read(header), ...read(payload) }))
}

describe.each([ISSUING, VERIFYING])('%s', (page) => {
  const blocks = snippetsOf(page).filter(({ language }) => language === 'http')
  const [link, ...messages] = blocks
  const walk = (): Walk => walks.get(page) ?? { link: '', exchanges: [], tokens: [] }

  it('begins with the link of a session', () => {
    expect(isShown(link?.code.trim(), walk().link)).toBe(true)
  })

  it('has every message of the walk, in its order', () => {
    expect(messages.map(({ code }) => readBlock(code).request)).toEqual(walk().exchanges.map(({ request }) => request))
  })

  it.each(messages.map(({ code }, index) => [readBlock(code).request, code, index] as const))(
    'shows %s and its answer as they are',
    (_, code, index) => {
      const shown = readBlock(code)
      const seen = walk().exchanges[index]
      expect([isShown(shown.sent, seen?.sent), shown.status, isShown(shown.answer, seen?.answer || '')]).toEqual([
        true,
        seen?.status,
        true,
      ])
    },
  )

  it('shows tokens as they are', () => {
    const shown = snippetsOf(page).filter(({ language }) => language === 'json')
    const values = shown.map(({ code }) => JSON.parse(code) as object)
    expect(shown.length).toBeGreaterThan(1)
    expect(values.filter((value) => !walk().tokens.some((token) => isShown(value, token)))).toEqual([])
  })
})
