import { randomBytes } from 'node:crypto'
import { existsSync, mkdtempSync, readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import type { Script, TestEngine } from '../../test/support/engine.ts'
import { bodyOf, started, uriOf } from '../../test/support/engine-calls.ts'
import { openSqlite } from '../store/sqlite.ts'
import { type EngineCollections, engineMigrations } from './collections.ts'

/** Stores the body by PUT, and takes the value away by DELETE; /transaction and /timer have the body as payload. */
const script: Script = {
  http: (hands) => {
    const payload = bodyOf(hands)
    if (uriOf(hands) === '/transaction') hands.transact(payload)
    else if (uriOf(hands) === '/timer') hands.timer(1, 1000, payload)
    else hands.set(uriOf(hands), payload === '' ? undefined : payload)
    return Promise.resolve({})
  },
  timer: () => Promise.resolve(),
}
/** Longer than a page of the database, so that pages become free. */
const longText = () => randomBytes(8192).toString('hex')

interface Database {
  readonly engine: TestEngine
  readonly send: (method: 'PUT' | 'DELETE', path: string, payload: string) => Promise<void>
}
const include = async (engine: TestEngine): Promise<void> => {
  for (const { hash } of engine.chain.submitted) engine.chain.outcomes.set(hash, 'included')
  engine.chain.mine()
  await engine.rounds()
}

/** A component stores something at the path; by `end` nobody needs it any more. */
const rows: readonly (readonly [what: string, path: string, end: (database: Database) => Promise<unknown>])[] = [
  ['a value that was replaced', '/value', ({ send }) => send('PUT', '/value', 'new')],
  ['a value that was deleted', '/value', ({ send }) => send('DELETE', '/value', '')],
  ['a transaction that was included', '/transaction', ({ engine }) => include(engine)],
  [
    'a timer that has run',
    '/timer',
    ({ engine }) => {
      engine.clock.now = new Date(engine.clock.now.getTime() + 1000)
      return engine.rounds()
    },
  ],
  ['a timer that was scheduled anew', '/timer', ({ send }) => send('PUT', '/timer', 'new')],
]

it.each(rows)('nothing of %s is left in the files of the database', async (_, path, end) => {
  const file = join(mkdtempSync(join(tmpdir(), 'vouchsafe-engine-')), 'engine.db')
  const store = await openSqlite<EngineCollections>(file, engineMigrations)
  const engine = await started(script, { store, settings: { limits: { timerBytes: 65_536 } } })
  const send: Database['send'] = async (method, at, payload) => {
    const { statusCode } = await engine.engine.app.inject({ method, url: engine.url + at, payload })
    expect(statusCode).toBe(200)
  }
  const listTexts = async (): Promise<string[]> => {
    const lists = [store.list('component_storage'), store.list('outbox'), store.list('timer')]
    return (await Promise.all(lists)).flat().map(({ value }) => JSON.stringify(value))
  }
  /** Tests whether the files have a piece of one of the texts. */
  const haveSome = (texts: Iterable<string>): boolean => {
    const bytes = [file, `${file}-wal`].map((each) => (existsSync(each) ? readFileSync(each, 'latin1') : '')).join()
    return [...texts].some((text) => text.match(/.{500}/g)?.some((piece) => bytes.includes(piece)))
  }

  await send('PUT', path, longText())
  const texts = new Set(await listTexts())
  // A transaction is signed, and so written again.
  await engine.rounds()
  for (const text of await listTexts()) texts.add(text)
  expect(haveSome(texts)).toBe(true)
  await end({ engine, send })
  await store.close()
  expect(haveSome(texts)).toBe(false)
})
