import { expect, it } from 'vitest'
import { describeListenProblem, listLastingMistakes, PinRefusal, TemporaryFailure } from './start-refusal.ts'

it.each([
  ['EADDRINUSE', true],
  ['EADDRNOTAVAIL', true],
  ['EAI_AGAIN', true],
  ['ENOTFOUND', false],
  ['EACCES', false],
])('%s of the address of a service may pass: %s', async (code, mayPass) => {
  const error = Object.assign(new Error(code), { code })
  const { isTemporary = false } = await describeListenProblem(error, { port: 1, host: 'issuer.internal' })
  expect(isTemporary).toBe(mayPass)
})

it('lists a mistake that lasts, and throws one that may pass, and a PIN that was refused before all', () => {
  const mistake = 'signing.pkcs11: why'
  expect(listLastingMistakes({ mistake })).toEqual([mistake])
  expect(() => listLastingMistakes({ mistake, isTemporary: true })).toThrow(TemporaryFailure)
  expect(() => listLastingMistakes({ mistake, isTemporary: true, isPinRefused: true })).toThrow(PinRefusal)
})
