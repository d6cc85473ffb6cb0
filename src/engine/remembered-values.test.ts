/**
 * Tests the stored values that workers remember, against real commits: the next call sees what was committed, in each
 * worker. The model is a Map for each contract.
 */
import { randomBytes } from 'node:crypto'
import fc from 'fast-check'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { CONTRACT } from '../../test/support/engine.ts'
import { servingInWorkers } from '../../test/support/engine-workers.ts'

const CONTRACTS = [CONTRACT, `00${'c2'.repeat(20)}`] as const
const KEYS = ['a', 'b', 'c'] as const
type Key = (typeof KEYS)[number]

/** Says what it finds at every key, then does what it is told, and says what it finds then. */
const SOURCE = `import { component, json } from 'vouchsafe/component'
const KEYS = ${JSON.stringify(KEYS)}
component({
  http: (request, context) => {
    const shelf = context.storage('shelf')
    const read = (key) => new TextDecoder().decode(shelf.get(key) ?? new Uint8Array(0))
    const all = () => KEYS.map(read)
    const { set = '', to = '', add = '', drop = '', ends = '', turns = '0' } = request.query
    const before = all()
    if (set !== '') shelf.set(set, to)
    if (add !== '') shelf.set(add, String(Number(read(add)) + 1))
    if (drop !== '') shelf.delete(drop)
    const after = all()
    for (let turn = 0; turn < Number(turns); turn++) Math.sqrt(turn)
    if (ends === 'trap') throw new Error('on purpose')
    return ends === 'bad' ? { status: 7 } : json(200, { before, after })
  },
})`

type Engine = Awaited<ReturnType<typeof servingInWorkers>>
let engine: Engine
beforeAll(async () => {
  engine = await servingInWorkers(SOURCE, CONTRACTS)
})
afterAll(() => engine.stop())

interface Said {
  readonly status: number
  readonly before: readonly string[]
  readonly after: readonly string[]
}

async function call(contract: string, method: 'GET' | 'POST', query: Record<string, string> = {}): Promise<Said> {
  const url = `/offchain/${contract}/?${new URLSearchParams(query).toString()}`
  const { statusCode, body } = await engine.engine.app.inject({ method, url })
  const said = statusCode === 200 ? (JSON.parse(body) as Omit<Said, 'status'>) : { before: [], after: [] }
  return { status: statusCode, ...said }
}

type Model = Map<Key, string>
const seen = (model: Model): string[] => KEYS.map((key) => model.get(key) ?? '')

interface World {
  readonly models: readonly [Model, Model]
}
type Step = (world: World) => Promise<void>

const key = fc.constantFrom(...KEYS)
const which = fc.constantFrom(0, 1)
const method = fc.constantFrom('GET' as const, 'POST' as const)
/** A call that changes something: what it saw, and what of it is left. */
const change = fc
  .record({ which, key, method, what: fc.constantFrom('set', 'drop'), ends: fc.constantFrom('', '', 'trap', 'bad') })
  .map(({ which: at, key: name, method: by, what, ends }): Step & { toString(): string } => {
    const step: Step = async ({ models }) => {
      const [contract, model] = [CONTRACTS[at], models[at]]
      const to = randomBytes(4).toString('hex')
      const said = await call(contract, by, { [what]: name, to, ends })
      expect(said.status).toBe({ '': 200, trap: 500, bad: 502 }[ends])
      if (ends !== '') return
      expect(said.before).toEqual(seen(model))
      if (what === 'set') model.set(name, to)
      else model.delete(name)
      expect(said.after).toEqual(seen(model))
    }
    return Object.assign(step, { toString: () => `${by} ${what} ${name} of ${at} ${ends}` })
  })
/** In all workers at once. */
const reads = which.map((at): Step & { toString(): string } => {
  const step: Step = async ({ models }) => {
    const answers = await Promise.all(Array.from({ length: 6 }, () => call(CONTRACTS[at], 'GET', { turns: '2000' })))
    for (const { before, after } of answers) expect([before, after]).toEqual([seen(models[at]), before])
  }
  return Object.assign(step, { toString: () => `reads of ${at}` })
})
/**
 * Beside each other, so that all but the first of those by GET meet a conflict: none is lost, and none counts twice.
 */
const additions = fc
  .array(fc.record({ which, method }), { minLength: 2, maxLength: 6 })
  .map((calls): Step & { toString(): string } => {
    const step: Step = async ({ models }) => {
      for (const at of [0, 1] as const) {
        await call(CONTRACTS[at], 'POST', { set: 'a', to: '0' })
        models[at].set('a', '0')
      }
      const answers = await Promise.all(
        calls.map(async ({ which: at, method: by }) => {
          const { after } = await call(CONTRACTS[at], by, { add: 'a' })
          return { at, number: Number(after[0]) }
        }),
      )
      for (const at of [0, 1] as const) {
        const numbers = answers.filter((one) => one.at === at).map(({ number }) => number)
        expect(numbers.sort((one, other) => one - other)).toEqual(numbers.map((_, index) => index + 1))
        models[at].set('a', String(numbers.length))
      }
    }
    return Object.assign(step, {
      toString: () => `additions ${calls.map((one) => `${one.method} ${one.which}`).join()}`,
    })
  })

const steps = fc.array(fc.oneof({ weight: 3, arbitrary: change }, { weight: 2, arbitrary: reads }, additions), {
  minLength: 3,
  maxLength: 14,
})

it('what was committed is what every later call sees, in every worker and for each contract', async () => {
  await fc.assert(
    fc.asyncProperty(steps, async (all) => {
      const models = await Promise.all(CONTRACTS.map((contract) => call(contract, 'GET')))
      const world = { models: models.map(({ before }) => modelOf(before)) as unknown as World['models'] }
      for (const step of all) await step(world)
      for (const [at, contract] of CONTRACTS.entries()) {
        expect((await call(contract, 'GET')).before).toEqual(seen(world.models[at] as Model))
      }
    }),
    { numRuns: 10 },
  )
})

function modelOf(said: readonly string[]): Model {
  return new Map(KEYS.flatMap((name, at) => (said[at] ? [[name, said[at]] as const] : [])))
}

it('a call that reads more than one value sees them as one commit left them', async () => {
  for (let round = 0; round < 10; round++) {
    const value = `round ${round}`
    const writes = ['a', 'b', 'c'].map((set) => call(CONTRACT, 'POST', { set, to: value }))
    const looks = Array.from({ length: 8 }, () => call(CONTRACT, 'GET', { turns: '500' }))
    await Promise.all(writes)
    for (const { status, before, after } of await Promise.all(looks)) {
      expect([status, after]).toEqual([200, before])
      // The writers come one after the other: what is new stands in front of what is old.
      const isNew = before.map((one) => one === value)
      expect(isNew).toEqual([...isNew].sort((one, other) => Number(other) - Number(one)))
    }
  }
})

it('a call that another process was before runs again, and forgets what its worker remembered', async () => {
  const other = await engine.restart()
  await other.rounds()
  const elsewhere = (to: string) =>
    other.engine.app.inject({
      method: 'POST',
      url: `/offchain/${CONTRACT}/?${new URLSearchParams({ set: 'a', to }).toString()}`,
    })
  await call(CONTRACT, 'POST', { set: 'a', to: '0' })
  for (const round of [1, 2, 3]) {
    await Promise.all(Array.from({ length: 6 }, () => call(CONTRACT, 'GET')))
    expect((await elsewhere(String(round * 100))).statusCode).toBe(200)
    const { before, after } = await call(CONTRACT, round === 3 ? 'GET' : 'POST', { add: 'a' })
    expect([before[0], after[0]]).toEqual([String(round * 100), String(round * 100 + 1)])
  }
  await other.engine.app.close()
})
