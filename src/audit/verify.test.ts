import { generateKeyPair } from 'node:crypto'
import { promisify } from 'node:util'
import { beforeAll, describe, expect, it } from 'vitest'
import { createSigner } from '../keys/file-signer.ts'
import type { Signer } from '../keys/signer.ts'
import { type CheckpointKeys, findCheckpoints, indexCheckpointKeys, writeCheckpoint } from './checkpoint.ts'
import { type AuditEntry, type AuditRecord, chainRecords, LOG_START_TYPE, ORIGIN, writeRecord } from './record.ts'
import { verifyCopy } from './verify.ts'

const LOG = 'log-1'
const at = '2026-05-01T08:00:00.000Z'

let signer: Signer
let stranger: Signer
let keys: CheckpointKeys
/** Ten records, with a checkpoint after the fifth and the tenth. */
let copy: readonly string[]
let records: readonly AuditRecord[]

async function newKey() {
  return (await promisify(generateKeyPair)('ec', { namedCurve: 'P-256' })).privateKey
}

beforeAll(async () => {
  const [key, otherKey] = [await newKey(), await newKey()]
  signer = createSigner(key, [])
  stranger = createSigner(otherKey, [])
  keys = indexCheckpointKeys([key])
  records = recordsOf(LOG)
  copy = await signedCopy(records, signer)
})

function recordsOf(log: string): readonly AuditRecord[] {
  const acts = Array.from({ length: 9 }, (_, index) => ({ at, type: 'issuance.started', subject: `s${index}` }))
  return chainRecords(ORIGIN, [{ at, type: LOG_START_TYPE, subject: log }, ...acts])
}

function checkpointOf(all: readonly AuditRecord[], sequence: number, by = signer): Promise<string> {
  const { hash = '' } = all[sequence - 1] ?? {}
  return writeCheckpoint(by, { log: all[0]?.subject ?? '', sequence, hash, at })
}

const checkpointLine = (checkpoint: string): string => JSON.stringify({ checkpoint })

async function signedCopy(all: readonly AuditRecord[], by: Signer): Promise<readonly string[]> {
  const lines = all.map(writeRecord)
  const [middle, end] = [await checkpointOf(all, 5, by), await checkpointOf(all, 10, by)].map(checkpointLine)
  return [...lines.slice(0, 5), middle ?? '', ...lines.slice(5), end ?? '']
}

const verify = (lines: readonly string[], kept: readonly string[] = []) => verifyCopy(lines, keys, kept)

/** Returns the same log, as somebody makes it anew without the key after changing a record. */
function rewritten(change: (record: AuditRecord) => object): readonly string[] {
  const entries = records.map((record) => {
    const { at: time, type, subject = '' } = { ...record, ...change(record) }
    return { at: time, type, subject }
  })
  const lines = chainRecords(ORIGIN, entries).map(writeRecord)
  return [...lines.slice(0, 5), copy[5] ?? '', ...lines.slice(5), copy[11] ?? '']
}

describe('a copy of the audit log', () => {
  it('is intact as it was written, and says how far it is vouched for', async () => {
    expect(await verify(copy)).toEqual({
      intact: true,
      problems: [],
      undecided: [],
      records: 10,
      vouchedFor: 10,
      checkpoints: 2,
    })
    expect(await verify(copy.slice(0, -1))).toMatchObject({ intact: true, records: 10, vouchedFor: 5 })
  })

  it('has no more checkpoints when the same ones were kept elsewhere', async () => {
    const kept = copy.flatMap(findCheckpoints)
    expect(kept).toHaveLength(2)
    expect(await verify(copy, kept)).toMatchObject({ intact: true, checkpoints: 2 })
  })

  it.each<[attack: string, lines: () => readonly string[], problem: RegExp]>([
    [
      'a record changed',
      () => copy.map((line, i) => (i === 2 ? line.replace('s1', 'x1') : line)),
      /line 3: record 3 is/,
    ],
    [
      'a member added',
      () => copy.map((l, i) => (i === 2 ? l.replace('"at"', '"about":"x","at"') : l)),
      /line 3: record 3/,
    ],
    [
      'a member twice, so that readers differ',
      () => copy.map((line, i) => (i === 2 ? line.replace('"type"', '"type":"query.created","type"') : line)),
      /line 3: type: this member is there twice/,
    ],
    ['a record dropped', () => copy.toSpliced(3, 1), /line 4: record 5 stands where record 4 should be/],
    ['a record twice', () => copy.toSpliced(3, 0, copy[2] ?? ''), /line 4: record 3 stands where record 4/],
    [
      'two records exchanged',
      () => [...copy.slice(0, 2), copy[3], copy[2], ...copy.slice(4)] as string[],
      /line 3: record 4/,
    ],
    ['the beginning gone', () => copy.slice(1), /line 1: record 2 stands where record 1 should be/],
    [
      'a record changed and all made anew',
      () => rewritten((r) => (r.sequence === 3 ? { subject: 'x' } : {})),
      /not the one that was signed/,
    ],
    ['a line that is none', () => copy.toSpliced(4, 1, '{"sequence":5'), /line 5: it is not JSON/],
  ])('is not intact with %s', async (_attack, lines, problem) => {
    const report = await verify(lines())
    expect(report.intact).toBe(false)
    expect(report.problems[0]).toMatch(problem)
  })

  it('is not intact when another key, or nobody, signed it', async () => {
    expect((await verify(await signedCopy(records, stranger))).problems[0]).toMatch(
      /line 6: it is signed by another key/,
    )
    const unsigned = copy.toSpliced(5, 1, (copy[5] ?? '').replace(/\.[^.]+("})$/, `.${'A'.repeat(86)}$1`))
    expect((await verify(unsigned)).problems[0]).toMatch(/line 6: its signature does not hold/)
  })

  it('is not intact with the checkpoint of another log, or of another place', async () => {
    const other = checkpointLine(await checkpointOf(recordsOf('log-2'), 5))
    expect((await verify(copy.toSpliced(5, 1, other))).problems).toEqual(['line 6: the checkpoint is of another log'])
    expect((await verify(copy.toSpliced(5, 0, copy[11] ?? ''))).problems[0]).toMatch(
      /checkpoint of record 10 stands after/,
    )
  })

  it.each<[what: string, lines: () => readonly string[]]>([
    ['a log that was never signed yet', () => copy.slice(0, 4)],
    ['a copy whose signatures were left out', () => copy.filter((line) => !line.includes('checkpoint'))],
    ['nothing at all', () => []],
  ])('decides nothing about %s', async (_what, lines) => {
    const { intact, problems, undecided } = await verify(lines())
    expect({ intact, problems }).toEqual({ intact: false, problems: [] })
    expect(undecided).toEqual([expect.stringMatching(/anybody could have written it.*export it again after that/)])
  })

  it('decides nothing where a checkpoint was signed after the copy ends, and decides with a newer copy', async () => {
    const older = copy.slice(0, 6)
    expect(await verify(older)).toMatchObject({ intact: true })
    const kept = [await checkpointOf(records, 5), await checkpointOf(records, 9), await checkpointOf(records, 10)]
    expect(await verify(older, kept)).toMatchObject({
      intact: false,
      problems: [],
      undecided: [
        `the copy ends with record 5, and record 10 was signed at ${at}: the copy is older than that, or its end is missing; export it again and verify that`,
      ],
    })
    expect(await verify(copy, kept)).toMatchObject({ intact: true, undecided: [] })
    const changed = older.map((line, i) => (i === 2 ? line.replace('s1', 'x1') : line))
    expect(await verify(changed, kept)).toMatchObject({ intact: false, undecided: [] })
  })

  it('decides nothing by a kept checkpoint that is of another log, or that nobody can verify', async () => {
    const other = await checkpointOf(recordsOf('log-2'), 10)
    expect(await verify(copy.slice(0, 6), [other])).toMatchObject({
      problems: [],
      undecided: ['a checkpoint that was kept is of another log'],
    })
    const within = await checkpointOf(recordsOf('log-2'), 5)
    expect(await verify(copy, [within])).toMatchObject({
      problems: [],
      undecided: ['a checkpoint that was kept is of another log'],
    })
    const [theirs] = (await signedCopy(records, stranger)).flatMap(findCheckpoints)
    expect(await verify(copy, [theirs ?? ''])).toMatchObject({
      intact: false,
      problems: [],
      undecided: [expect.stringMatching(/^a checkpoint that was kept: it is signed by another key/)],
    })
  })

  it('that the holder of the key wrote anew is told by a checkpoint that was kept elsewhere', async () => {
    const forged = await signedCopy(
      chainRecords(ORIGIN, [
        { at, type: LOG_START_TYPE, subject: LOG },
        ...Array<AuditEntry>(9).fill({ at, type: 'query.created' }),
      ]),
      signer,
    )
    expect(await verify(forged)).toMatchObject({ intact: true })
    expect((await verify(forged, [await checkpointOf(records, 7)])).problems).toEqual([
      `line 8: by a checkpoint that was kept, record 7 or one before it is not the one that was signed at ${at}`,
    ])
  })

  it('tells no more than twenty problems of a copy that is none', async () => {
    expect((await verify(Array(10_000).fill('x'))).problems).toHaveLength(20)
  })
})

describe('checkpoints in the log stream of a service', () => {
  it('are found between its other lines', async () => {
    const checkpoint = await checkpointOf(records, 10)
    const other = checkpoint.replace(/^[^.]+/, Buffer.from('{"typ":"JWT"}').toString('base64url'))
    const text = `{"event":"listening"}\n{"event":"audit_checkpoint","checkpoint":"${checkpoint}"}\n{"x":"${other}"}\n`
    expect(findCheckpoints(text)).toEqual([checkpoint])
    expect(findCheckpoints(checkpoint)).toEqual([checkpoint])
  })
})
