import { setImmediate as immediately } from 'node:timers/promises'
import { expect, it } from 'vitest'
import { runInTurn } from './concurrency.ts'

it('the work for a value begins when that for the value before has ended, and the results are in order', async () => {
  const steps: string[] = []
  const work = async (name: string) => {
    steps.push(`${name} begins`)
    await immediately()
    steps.push(`${name} ends`)
    return name.toUpperCase()
  }
  expect(await runInTurn(['a', 'b'], work)).toEqual(['A', 'B'])
  expect(steps).toEqual(['a begins', 'a ends', 'b begins', 'b ends'])
})

it('another task of the event loop runs between two values, and none before the first', async () => {
  const steps: string[] = []
  setImmediate(() => void steps.push('another'))
  await runInTurn(['a', 'b'], (name) => steps.push(name))
  expect(steps).toEqual(['a', 'another', 'b'])
})

it.each<[string, (name: string) => Promise<string>]>([
  ['rejects', (name) => Promise.reject(new Error(name))],
  [
    'throws',
    (name) => {
      throw new Error(name)
    },
  ],
])('nothing more is done after the first work that %s', async (_, fail) => {
  const begun: string[] = []
  const work = (name: string) => {
    begun.push(name)
    return name === 'b' ? fail(name) : Promise.resolve(name)
  }
  await expect(runInTurn(['a', 'b', 'c'], work)).rejects.toThrow(/^b$/)
  expect(begun).toEqual(['a', 'b'])
})

it('no values have no results', async () => {
  expect(await runInTurn([], () => expect.unreachable('there is no work'))).toEqual([])
})
