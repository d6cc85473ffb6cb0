import { createServer } from 'node:https'
import { describe, expect, it } from 'vitest'
import { certify, makeAuthority } from '../../test/support/forge.ts'
import { listenInTest } from '../../test/support/local-server.ts'
import { makeKey, pemOf } from '../../test/support/services.ts'
import { errorOf } from '../../test/support/wallet.ts'
import { toPem } from '../keys/make-certificate.ts'
import { requireAddress } from './address.ts'
import type { Step, WalletContext } from './context.ts'
import type { WalletError } from './error.ts'
import { exchangeJson } from './exchange.ts'

/** Sends one request to a server that gives `answer`, and returns the step that people see. */
async function stepOf(answer: Response): Promise<Step | undefined> {
  const steps: Step[] = []
  const onStep = (step: Step): void => void steps.push(step)
  const wallet = { fetch: () => Promise.resolve(answer), onStep } as unknown as WalletContext
  const request = { what: 'asked', means: 'What a good answer means.', spec: '', url: 'https://issuer.example/par' }
  await exchangeJson(wallet, request).catch(() => undefined)
  return steps[0]
}

const json = { 'content-type': 'application/json' }

describe('the step of an exchange', () => {
  it.each<[string, () => Response]>([
    ['in the body', () => Response.json({ error: 'use_dpop_nonce' }, { status: 400, headers: { 'dpop-nonce': 'n' } })],
    [
      'in a challenge',
      () =>
        new Response('', {
          status: 401,
          headers: { 'www-authenticate': 'DPoP error="use_dpop_nonce"', 'dpop-nonce': 'n' },
        }),
    ],
  ])('says that a server wants its nonce in the proof, %s', async (_, answer) => {
    expect((await stepOf(answer()))?.means).toMatch(/nonce of its own.*sends the request again with it/)
  })

  it.each<[string, () => Response]>([
    ['an answer', () => new Response('{}', { headers: json })],
    ['a wish for a nonce that is not given', () => Response.json({ error: 'use_dpop_nonce' }, { status: 400 })],
    ['another refusal', () => Response.json({ error: 'invalid_request' }, { status: 400 })],
  ])('says what the request is for: %s', async (_, answer) => {
    expect((await stepOf(answer()))?.means).toBe('What a good answer means.')
  })
})

it.each([
  [{ error: 'invalid_request' }, 'invalid_request (status 400)'],
  [{ error: 'invalid_request', error_description: 'too much' }, 'too much (invalid_request, status 400)'],
  [{}, 'it does not say why (status 400)'],
])('says each thing once of the refusal %j', async (body, reason) => {
  const wallet = { fetch: () => Promise.resolve(Response.json(body, { status: 400 })) } as unknown as WalletContext
  const request = { what: 'asked', means: '', spec: '', url: 'https://issuer.example/par' }
  const { message } = await errorOf(exchangeJson(wallet, request))
  expect(message).toBe(`https://issuer.example said no when the wallet asked: ${reason}`)
})

it('says of a server with a certificate of an unknown authority what the trouble is', async () => {
  const key = await makeKey()
  const cert = toPem(certify(await makeAuthority('TLS CA'), key, { dnsNames: ['localhost'] }))
  const server = createServer({ key: pemOf(key), cert }, (_, response) => response.end('{}'))
  const url = `https://127.0.0.1:${await listenInTest(server)}/par`
  const wallet = { fetch } as unknown as WalletContext
  await expect(exchangeJson(wallet, { what: 'asked', means: '', spec: '', url })).rejects.toThrow(
    /^the TLS certificate of 127\.0\.0\.1:\d+ is not accepted \(UNABLE_TO_\w+\); .* NODE_EXTRA_CA_CERTS/,
  )
})

describe('the message of a refusal', () => {
  const FAKE = 'no\r\n✓ Received\u001b[2J\u2028'
  const SHOWN = 'no\ufffd\ufffd✓ Received\ufffd[2J\ufffd'

  it.each<[string, object]>([
    ['error', { error: FAKE }],
    ['error_description', { error: FAKE, error_description: FAKE }],
  ])('is one line, whatever stands in the %s of a server', async (_, body) => {
    const wallet = { fetch: () => Promise.resolve(Response.json(body, { status: 400 })) } as unknown as WalletContext
    const request = { what: 'asked', means: '', spec: '', url: 'https://issuer.example/par' }
    const error = (await exchangeJson(wallet, request).catch((thrown: unknown) => thrown)) as WalletError
    expect(error.message).toContain(`said no when the wallet asked: ${SHOWN}`)
    expect(Object.values(error.server ?? {})).toEqual(Object.keys(body).map(() => SHOWN))
  })

  it('is one line, whatever stands in an address', () => {
    const address = 'http://example.com/a\n✓ Received'
    expect(() => requireAddress(address, 'credential_endpoint', 'invalid_metadata')).toThrow(
      / is http:[^\n]*\ufffd✓ Rec/,
    )
  })
})
