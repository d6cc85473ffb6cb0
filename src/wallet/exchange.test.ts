import { describe, expect, it } from 'vitest'
import type { Step, WalletContext } from './context.ts'
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
    ['in the body', () => Response.json({ error: 'use_dpop_nonce' }, { status: 400 })],
    [
      'in a challenge',
      () => new Response('', { status: 401, headers: { 'www-authenticate': 'DPoP error="use_dpop_nonce"' } }),
    ],
  ])('says that a server wants its nonce in the proof, %s', async (_, answer) => {
    expect((await stepOf(answer()))?.means).toMatch(/nonce of its own.*sends the request again with it/)
  })

  it.each<[string, () => Response]>([
    ['an answer', () => new Response('{}', { headers: json })],
    ['another refusal', () => Response.json({ error: 'invalid_request' }, { status: 400 })],
  ])('says what the request is for: %s', async (_, answer) => {
    expect((await stepOf(answer()))?.means).toBe('What a good answer means.')
  })
})
