import { expect, it } from 'vitest'
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
