import fc from 'fast-check'
import { expect, it } from 'vitest'
import { joinProgress, type SessionProgress } from './session-progress.ts'

const refusal = fc.record({
  endpoint: fc.constant('credential'),
  error: fc.constantFrom('invalid_nonce' as const, 'invalid_proof' as const),
  description: fc.constant('no'),
  count: fc.constant(1),
  at: fc.constant(0),
})

it('counts no refusals together that others lay between, in whatever parts their progress comes', () => {
  const join = (parts: readonly SessionProgress[]) => parts.reduce<SessionProgress>(joinProgress, {})
  fc.assert(
    fc.property(fc.array(fc.array(refusal, { maxLength: 24, size: 'max' }), { maxLength: 4 }), (parts) => {
      const alone = join(parts.flat().map((problem) => ({ problem })))
      const joined = join(parts.map((part) => join(part.map((problem) => ({ problem })))))
      expect(joined.problem).toEqual(alone.problem)
      // The oldest refusal may have a lower count, as a part with the most refusals drops those before it.
      expect(joined.earlier?.slice(1)).toEqual(alone.earlier?.slice(1))
      expect(joined.earlier?.[0]?.count ?? 0).toBeLessThanOrEqual(alone.earlier?.[0]?.count ?? 0)
    }),
  )
})
