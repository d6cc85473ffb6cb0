import { expect, it } from 'vitest'
import { formatTime } from './panel.ts'

it.each([
  [0, '0:00'],
  [9, '0:09'],
  [3599, '59:59'],
  [3600, '1:00:00'],
  [7509, '2:05:09'],
  [86_400, '24:00:00'],
])('%i remaining seconds are %s', (seconds, text) => {
  expect(formatTime(seconds)).toBe(text)
})
