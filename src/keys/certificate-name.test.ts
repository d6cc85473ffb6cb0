import { describe, expect, it } from 'vitest'
import { readDer } from '../codec/der.ts'
import { nameText, writeName } from './certificate-name.ts'

describe('a distinguished name', () => {
  const nameOf = (count: number) => readDer(writeName(Array.from({ length: count }, () => ['CN', 'a'] as const)))

  it('has 64 attributes at most', () => {
    expect(nameText(nameOf(64))).toMatch(/^CN=a, CN=a/)
    expect(() => nameText(nameOf(65))).toThrow('the name has more than 64 attributes')
  })
})
