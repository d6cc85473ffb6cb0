import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { temporaryDirectory } from '../../test/support/command.ts'
import { type Harness, loadComponent } from './index.ts'

/** Timer 1 counts its runs and schedules itself with the delay of its payload; timer 2 traps until it may run. */
const COMPONENT = `import { component, text } from 'vouchsafe/component'
component({
  http({ path }, context) {
    if (path === '/count') context.timers.schedule(1, 0, Uint8Array.of(0))
    if (path === '/trap') context.timers.schedule(2, 0)
    if (path === '/allow') context.storage('s').set('allowed', 'yes')
    return text(200, context.timers.status(2))
  },
  timers: {
    1: (payload, context) => {
      context.transact(payload)
      context.timers.schedule(1, payload[0] ?? 0, payload)
    },
    2: (payload, context) => {
      if (context.storage('s').get('allowed') === undefined) throw new Error('not yet')
      context.transact(payload)
    },
  },
})`

async function load(): Promise<Harness> {
  const file = join(temporaryDirectory(), 'component.ts')
  writeFileSync(file, COMPONENT)
  return loadComponent(file)
}

const statusOf = async (component: Harness): Promise<string> => (await component.http({ uri: '/' })).text()

it('a timer that schedules itself without a delay runs once in a round of an engine', async () => {
  const component = await load()
  await component.http({ uri: '/count' })
  await component.advance(1000)
  expect(component.transactions).toHaveLength(5)
  await component.close()
})

it('a timer that traps runs again after a pause, as often as in an engine', async () => {
  const component = await load()
  await component.http({ uri: '/trap' })
  await expect(component.advance(0)).rejects.toThrow('not yet')
  expect(await statusOf(component)).toBe('scheduled')
  await component.advance(999)
  await expect(component.advance(1)).rejects.toThrow('not yet')
  await component.http({ uri: '/allow' })
  await component.advance(2000)
  expect([component.transactions.length, await statusOf(component)]).toEqual([1, 'done'])
  await component.close()
})

it('a timer that traps eight times has failed', async () => {
  const component = await load()
  await component.http({ uri: '/trap' })
  for (let runs = 0; runs < 8; runs++) await expect(component.advance(300_000)).rejects.toThrow('not yet')
  expect(await statusOf(component)).toBe('failed')
  await component.advance(3_600_000)
  await component.close()
})
