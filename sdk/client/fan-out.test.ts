import { expect, it } from 'vitest'
import { EngineError } from './errors.ts'
import { fanOut } from './fan-out.ts'

const [A, B] = [`00${'aa'.repeat(20)}`, `00${'bb'.repeat(20)}`]
const engines = [
  { address: A, endpoint: 'https://a.example' },
  { address: A, endpoint: 'https://b.example' },
  { address: B, endpoint: 'https://c.example' },
]

it('counts an engine that is listed twice once', async () => {
  const { answers, errors } = await fanOut(engines, 2, async ({ endpoint }) => {
    // The other engine answers last.
    for (let turn = 0; endpoint === 'https://c.example' && turn < 10; turn++) await Promise.resolve()
    return endpoint
  })
  expect([answers, errors]).toEqual([['https://a.example', 'https://c.example'], []])
})

it('counts an engine that is listed twice as failed only where both endpoints failed', async () => {
  const asked = (failing: readonly string[]) =>
    fanOut(engines, 3, (engine) =>
      failing.includes(engine.endpoint)
        ? Promise.reject(new EngineError(engine, 'unreachable'))
        : Promise.resolve(engine.endpoint),
    )
  const one = await asked(['https://a.example'])
  expect([one.answers.length, one.errors]).toEqual([2, []])
  const both = await asked(['https://a.example', 'https://b.example'])
  expect([both.answers, both.errors.length]).toEqual([['https://c.example'], 1])
})
