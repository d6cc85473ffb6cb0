import { expect, it } from 'vitest'
import { createOncePerText } from './chain.ts'

it('what a contract says that makes no sense is told once, and not with each look', () => {
  const told: string[] = []
  const tell = createOncePerText((text) => told.push(text))
  for (let looks = 0; looks < 3; looks++) for (const text of ['one', 'two']) tell(text)
  expect(told).toEqual(['one', 'two'])
  for (let contract = 0; contract < 1000; contract++) tell(`contract ${contract}`)
  tell('one')
  expect(told.slice(-1)).toEqual(['one'])
})
