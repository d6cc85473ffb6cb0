import { describe, expect, it } from 'vitest'
import { clockFinding, describeStorage } from './machine.ts'

describe('the clock of this machine', () => {
  const theirs = new Date('2026-11-24T12:00:00Z')
  it.each([
    [0, 'ok', 'this machine and a.example have the same time'],
    [-5, 'ok', 'this machine and a.example have the same time'],
    [90, 'warning', 'this machine is 90 seconds ahead of a.example'],
    [-6, 'warning', 'this machine is 6 seconds behind a.example'],
  ])('%i seconds ahead is %s', (seconds, outcome, text) => {
    const ours = new Date(theirs.getTime() + seconds * 1000)
    expect(clockFinding('a.example', theirs, ours)).toMatchObject({
      subject: 'clock',
      outcome,
      text: expect.stringContaining(text) as string,
    })
  })
})

describe('the place of an embedded database', () => {
  const place = { sqlite: '3.51.0', kind: 'ext4', freeBytes: 12.34e9 }
  const outcomes = (changes: Partial<typeof place>) =>
    describeStorage({ ...place, ...changes }).map(({ outcome, text }) => `${outcome}: ${text}`)

  it('is told with the version of SQLite and the free space', () => {
    expect(outcomes({})).toEqual(['ok: SQLite 3.51.0 on ext4, with 12.3 GB of free space'])
  })

  it('is warned of where files are not locked reliably, and where little is free', () => {
    expect(outcomes({ kind: 'nfs' })[1]).toMatch(/^warning: nfs does not lock files reliably: put/)
    expect(outcomes({ freeBytes: 0.4e9 })[1]).toBe('warning: only 0.4 GB are free: make room, or use another disk')
  })
})
