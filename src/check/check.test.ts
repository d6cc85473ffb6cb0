import { createPublicKey } from 'node:crypto'
import { pino } from 'pino'
import { describe, expect, it } from 'vitest'
import { silentLog } from '../../test/support/check-log.ts'
import { malformed } from '../codec/malformed.ts'
import { allHold, type Check, type CheckRun, fail, notRun, pass, runChecks, type Verdict, warn } from './check.ts'

type Made = Partial<Check<string, { readonly asked: boolean }>>

function check(id: Check<string, object>['id'], made: Made = {}): Check<string, { readonly asked: boolean }> {
  return { id, asks: 'Is it so?', spec: 'A document', level: 'MUST', run: () => pass(), ...made }
}

const context = { asked: true }
const outcomes = async (
  checks: readonly Check<string, { readonly asked: boolean }>[],
  evidence: string | undefined = 'x',
) =>
  (await runChecks(checks, evidence, context, silentLog)).map(({ outcome, detail }) =>
    detail === undefined ? outcome : `${outcome}: ${detail}`,
  )

describe('the runner', () => {
  it('asks every check, and says of each how it went', async () => {
    expect(await runChecks([check('a.b', { run: () => fail('why not') })], 'x', context, silentLog)).toEqual([
      { id: 'a.b', outcome: 'failed', detail: 'why not' },
    ])
    expect(
      await outcomes([
        check('a.a', { run: () => fail('no') }),
        check('a.b'),
        check('a.c', { run: () => pass('well') }),
      ]),
    ).toEqual(['failed: no', 'passed', 'passed: well'])
  })

  it('cuts a detail at 600 characters, and no character in half', async () => {
    for (const verdict of [fail, pass, warn, notRun]) {
      const [whole, cut, half] = await Promise.all(
        ['a'.repeat(600), `a${'b'.repeat(160_000)}c`, `${'a'.repeat(408)}${'\u{1f600}'.repeat(200)}b`].map(
          async (detail) => {
            const [result] = await runChecks([check('a.b', { run: () => verdict(detail) })], 'x', context, silentLog)
            return result?.detail
          },
        ),
      )
      expect(whole).toBe('a'.repeat(600))
      expect(cut).toBe(`a${'b'.repeat(408)}…${'b'.repeat(189)}c`)
      expect(half).toBe(`${'a'.repeat(408)}…${'\u{1f600}'.repeat(94)}b`)
    }
  })

  it('makes a failed SHOULD a warning', async () => {
    expect(await outcomes([check('a.a', { level: 'SHOULD', run: () => fail('better not') })])).toEqual([
      'warning: better not',
    ])
  })

  it('does not ask what does not apply, evidence or none', async () => {
    const checks = [
      check('a.a', { notApplicableReason: ({ asked }) => (asked ? 'nobody asked' : undefined), run: () => fail('no') }),
    ]
    expect(await outcomes(checks)).toEqual(['not_applicable: nobody asked'])
    expect((await runChecks(checks, undefined, context, silentLog))[0]?.outcome).toBe('not_applicable')
    expect((await runChecks(checks, 'x', { asked: false }, silentLog))[0]?.outcome).toBe('failed')
  })

  it('asks nothing without evidence', async () => {
    expect((await runChecks([check('a.a')], undefined, context, silentLog))[0]).toMatchObject({
      outcome: 'not_run',
      detail: 'the presentation could not be read',
    })
  })

  it('does not ask what depends on a failed check, nor what depends on that', async () => {
    const checks = [
      check('a.a', { run: () => fail('no') }),
      check('a.b', { needs: ['a.a'] }),
      check('a.c', { needs: ['a.b'] }),
      check('a.d'),
    ]
    expect(await outcomes(checks)).toEqual([
      'failed: no',
      'not_run: a.a did not pass',
      'not_run: a.b did not pass',
      'passed',
    ])
  })

  it('fails a check that needs one without an outcome, by its name or its place, unless the run leaves that out', async () => {
    const lines: string[] = []
    const log = { logger: pino({}, { write: (line: string) => void lines.push(line) }), requestId: 'a-request' }
    const checks = [check('a.a', { needs: ['a.aa'] }), check('a.b', { needs: ['a.c'] }), check('a.c')]
    const outcomesIn = async (run: CheckRun) =>
      (await runChecks(checks, 'x', context, run)).map(({ outcome }) => outcome)
    expect(await outcomesIn(log)).toEqual(['failed', 'failed', 'passed'])
    expect(lines.map((line) => (JSON.parse(line) as { readonly check: string }).check)).toEqual(['a.a', 'a.b'])
    expect(await outcomesIn({ ...silentLog, omittedCheckIds: ['a.aa', 'a.c'] })).toEqual(['passed', 'passed', 'passed'])
  })

  it('asks what depends on a check that only warned or does not apply', async () => {
    const checks = [
      check('a.a', { level: 'SHOULD', run: () => fail('no') }),
      check('a.b', { notApplicableReason: () => 'nobody asked' }),
      check('a.c', { needs: ['a.a', 'a.b'] }),
    ]
    expect(await outcomes(checks)).toEqual(['warning: no', 'not_applicable: nobody asked', 'passed'])
  })

  it('fails a check that throws, which is a mistake of the service: the log has the error, the report the request', async () => {
    const lines: string[] = []
    const log = { logger: pino({}, { write: (line: string) => void lines.push(line) }), requestId: 'a-request' }
    const run = () => JSON.parse('a claim of the holder') as Verdict
    const late = { run: () => Promise.reject(new TypeError('a claim of the holder')) }
    const early = { notApplicableReason: () => JSON.parse('a claim of the holder') as string }
    const checks = [check('a.a', { run }), check('a.b', late), check('a.c', early)]
    const results = await runChecks(checks, 'x', context, log)
    const detail =
      'could not be decided because of an error in this service; its log has the error, under request a-request'
    expect(results.map((result) => [result.outcome, result.detail])).toEqual([
      ['failed', detail],
      ['failed', detail],
      ['failed', detail],
    ])
    expect(lines.map((line) => JSON.parse(line) as unknown)).toMatchObject([
      { event: 'check_threw', level: 50, check: 'a.a', request: 'a-request', error: { name: 'SyntaxError' } },
      { event: 'check_threw', level: 50, check: 'a.b', request: 'a-request', error: { name: 'TypeError' } },
      { event: 'check_threw', level: 50, check: 'a.c', request: 'a-request', error: { name: 'SyntaxError' } },
    ])
    expect(lines.join()).toContain('check.test.ts')
    expect(lines.join()).not.toContain('holder')
  })

  it('fails a check that comes across something malformed, and the log has the reason of a library', async () => {
    const lines: string[] = []
    const log = { logger: pino({}, { write: (line: string) => void lines.push(line) }), requestId: 'a-request' }
    const run = (): Verdict => {
      try {
        createPublicKey({ key: Buffer.from('3000', 'hex'), format: 'der', type: 'spki' })
        return pass()
      } catch (cause) {
        return malformed('the key is not a key', cause)
      }
    }
    const [result] = await runChecks([check('a.a', { run })], 'x', context, log)
    expect([result?.outcome, result?.detail]).toEqual(['failed', 'could not be checked: the key is not a key'])
    expect(JSON.parse(lines.join())).toMatchObject({
      ...{ event: 'check_failed', level: 30, check: 'a.a', request: 'a-request' },
      cause: { name: 'Error', reason: expect.any(String) as unknown },
    })
  })

  it('waits for an answer from elsewhere, and makes a warning of what is tolerated', async () => {
    const slow = { run: () => new Promise<Verdict>((resolve) => setImmediate(resolve, warn('nobody answered'))) }
    expect(await outcomes([check('a.a', slow), check('a.b', { needs: ['a.a'] })])).toEqual([
      'warning: nobody answered',
      'passed',
    ])
  })

  it('says of a question that cannot be put that it was not', async () => {
    expect(await outcomes([check('a.a', { run: () => notRun('nothing there') })])).toEqual(['not_run: nothing there'])
  })
})

describe('whether all holds', () => {
  const run = async (made: Made) =>
    allHold(await runChecks([check('a.a'), check('a.b', made)], 'x', context, silentLog))
  it.each<[string, Made, boolean]>([
    ['passed', {}, true],
    ['warning', { level: 'SHOULD', run: () => fail('no') }, true],
    ['not_applicable', { notApplicableReason: () => 'nobody asked' }, true],
    ['failed', { run: () => fail('no') }, false],
    ['not_run', { run: () => notRun('nothing there') }, false],
  ])('%s', async (_, made, holds) => expect(await run(made)).toBe(holds))

  it('nothing asked is nothing held', async () =>
    expect(allHold(await runChecks([check('a.a')], undefined, context, silentLog))).toBe(false))
})
