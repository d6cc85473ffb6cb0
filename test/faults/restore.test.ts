/**
 * Backups of an embedded database that are put back: no entry of a status list is given out twice, and the old lists
 * stay.
 */
import { cpSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { generationFile, WAL_MISSING } from '../../src/bin/embedded-database/generation-file.ts'
import { type IssuerCollections, issuerMigrations } from '../../src/issuer/collections.ts'
import { loadDriver, openSqlite } from '../../src/store/sqlite.ts'
import { startCommand } from '../support/command.ts'
import { faults } from '../support/faults.ts'
import { inStatusLists } from '../support/restored.ts'
import { endService, serviceDirectory, startForTest } from '../support/service-process.ts'
import { ISSUER_URL } from '../support/services.ts'

/** Each start leases numbers of its own, so that few show what a backup knows nothing of. */
const SOME = 4

interface Place {
  readonly directory: string
  readonly file: string
  readonly copy: string
}

const OTHER_FILE = 'the file beside it is of another state of it'
const TOLD = 'database.generation is higher than it was'

/**
 * Each: how a backup is made, of a service that runs or has stopped, and the ways in which it is put back in turn, with
 * what the log says of each.
 */
const backups: readonly (readonly [
  string,
  {
    readonly made: (place: Place) => Promise<void> | void
    readonly stops?: true
    readonly ways: readonly (readonly [back: (place: Place) => void, why: string])[]
  },
])[] = [
  ['made by vacuum into while the service runs', { made: vacuumInto, ways: [[putBack, WAL_MISSING]] }],
  [
    'copied while the service was stopped, put back alone, with all that lies beside it, and told by the operator',
    {
      made: copyDirectory,
      stops: true,
      ways: [
        [putBack, WAL_MISSING],
        [putAllBack, OTHER_FILE],
        [tellAndOverwrite, TOLD],
      ],
    },
  ],
]

async function vacuumInto({ file, copy }: Place): Promise<void> {
  const Database = await loadDriver()
  const database = new Database(file)
  database.exec(`vacuum into '${join(copy, 'issuer.db')}'`)
  database.close()
}

function copyDirectory({ directory, copy }: Place): void {
  cpSync(join(directory, 'data'), copy, { recursive: true })
}

function putBack({ file, copy }: Place): void {
  for (const each of [`${file}-wal`, `${file}-shm`]) rmSync(each, { force: true })
  cpSync(join(copy, 'issuer.db'), file)
}

function putAllBack({ directory, copy }: Place): void {
  rmSync(join(directory, 'data'), { recursive: true })
  cpSync(copy, join(directory, 'data'), { recursive: true })
}

/** Puts everything back as a snapshot of the disk does, so that nothing on it can tell. */
function tellAndOverwrite({ directory, copy, file }: Place): void {
  for (const each of readdirSync(copy)) writeFileSync(join(directory, 'data', each), readFileSync(join(copy, each)))
  for (const each of [`${file}-wal`, `${file}-shm`]) rmSync(each, { force: true })
  const config = join(directory, 'conf', 'server.json')
  const settings = JSON.parse(readFileSync(config, 'utf8')) as object
  writeFileSync(config, JSON.stringify({ ...settings, database: { generation: 1 } }))
}

describe('an embedded database that is put back from a backup', () => {
  it.each(faults(backups))(
    '%s: gives no entry twice, and says so in the log',
    { timeout: 600_000 },
    async (_, { made, stops, ways }) => {
      const directory = await serviceDirectory('issuer', { baseUrl: ISSUER_URL })
      const place = { directory, file: join(directory, 'data', 'issuer.db'), copy: join(directory, 'copy') }
      let service = await startForTest('issuer', directory)
      const lists = inStatusLists(() => service.url)
      const early = await lists.issue(3)
      if (stops) {
        expect((await endService(service, 'SIGTERM')).status).toBe(0)
        await made(place)
      } else {
        mkdirSync(place.copy)
        await made(place)
        await endService(service, 'SIGKILL')
      }
      service = await startForTest('issuer', directory)
      await lists.issue(SOME)
      // Where nothing was put back, the list is the same.
      expect((await endService(service, 'SIGKILL')).stdout).not.toMatch(/database_restored/)
      expect(lists.listIds()).toHaveLength(1)

      for (const [index, [back, why]] of ways.entries()) {
        back(place)
        service = await startForTest('issuer', directory)
        await lists.issue(SOME)
        lists.expectNoneTwice()
        expect(lists.listIds()).toHaveLength(index + 2)
        const { stdout } = await endService(service, 'SIGTERM')
        expect(stdout).toContain(`"event":"database_restored","why":"${why}"`)
        expect(stdout).toMatch(/"event":"open_sessions_voided"/)
      }
      // Once, and not at each start.
      service = await startForTest('issuer', directory)
      const before = lists.listIds()
      await lists.issue(1)
      expect(lists.listIds()).toEqual(before)
      await lists.expectServed(early)
      const again = await endService(service, 'SIGTERM')
      expect(again.stdout).not.toMatch(/database_restored|open_sessions_voided/)
      const { stdout: auditLog } = await startCommand(['audit', 'export'], { cwd: directory }).ended
      expect(auditLog.match(/"database\.restored"/g)).toHaveLength(1)
    },
  )

  it('begins a new list, and keeps the old ones, where the file beside it is missing', async () => {
    const directory = await serviceDirectory('issuer', { baseUrl: ISSUER_URL })
    let service = await startForTest('issuer', directory)
    const lists = inStatusLists(() => service.url)
    const early = await lists.issue(1)
    await endService(service, 'SIGTERM')
    rmSync(generationFile(join(directory, 'data', 'issuer.db')))
    service = await startForTest('issuer', directory)
    await lists.issue(1)
    expect(lists.listIds()).toHaveLength(2)
    await lists.expectServed(early)
  })

  it('begins a new list, and keeps the old ones, after an upgrade from a release without generations', async () => {
    const directory = await serviceDirectory('issuer', { baseUrl: ISSUER_URL })
    const file = join(directory, 'data', 'issuer.db')
    mkdirSync(join(directory, 'data'))
    const before = issuerMigrations.filter(({ id }) => id <= 'issuer-0010')
    const store = await openSqlite<IssuerCollections>(file, before)
    const space = { listId: 'old', entries: 1024, next: 64, key: 'A'.repeat(22) }
    await store.commit([
      { insert: 'status_space', id: 'current', value: space },
      { insert: 'status_list', id: 'old', value: { entries: 1024, bits: 2 } },
    ])
    await store.close()
    const Database = await loadDriver()
    const database = new Database(file)
    database.exec('pragma application_id = 0')
    database.close()
    const service = await startForTest('issuer', directory)
    const lists = inStatusLists(() => service.url)
    const issued = await lists.issue(1)
    expect(lists.listIds()).not.toContain(`${ISSUER_URL}/status-list/old`)
    expect((await fetch(`${service.url}/status-list/old`)).status).toBe(200)
    await lists.expectServed(issued)
    expect((await endService(service, 'SIGTERM')).stdout).not.toMatch(/database_restored/)
  })
})
