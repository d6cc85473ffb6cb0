import { chmodSync, mkdtempSync, rmSync } from 'node:fs'
import { availableParallelism, tmpdir } from 'node:os'
import { join } from 'node:path'
import { defineConfig } from 'vitest/config'
import { BaseSequencer } from 'vitest/node'

// The temporary directory of a run holds those of its tests and of the processes that they start, and goes with the run.
const temporary = mkdtempSync(join(tmpdir(), 'vouchsafe-tests-'))
// The PostgreSQL server, which runs as another user, passes through the directory.
chmodSync(temporary, 0o711)
for (const name of ['TMPDIR', 'TEMP', 'TMP']) process.env[name] = temporary
// A process that was ended may write for a moment still, and is waited for.
process.on('exit', () => rmSync(temporary, { recursive: true, force: true, maxRetries: 10 }))

// vitest groups failures with Map.groupBy, which Node 20 does not have; without it a failing test reads as a crash.
Map.groupBy ??= (items, keyOf) => {
  const groups = new Map()
  for (const item of items) groups.set(keyOf(item), [...(groups.get(keyOf(item)) ?? []), item])
  return groups
}

/** The tests of `npm run test:others`: those that need packages of other parties, and the longest ones about chains and costs. */
export const OTHERS = [
  'test/{interop,contracts,browser,fuzz}/*.test.ts',
  'components/*/many-*.test.ts',
  'test/e2e/engine-components.test.ts',
  'test/chain/local-beside.test.ts',
]
/** About PostgreSQL alone. */
const POSTGRESQL = ['src/store/postgres*.test.ts', 'test/{e2e,faults}/postgresql*.test.ts']
/** What the database decides, and so is to hold on each. */
const BOTH = [
  'src/{callback/deliver,event/pass-on,engine/{commit,outbox{,-gaps},quotas},issuer/issuance-progress,verifier/trust-list/refresh}.test.ts',
  'test/attacks/{issuer-{authorization-races,processes,token,refresh},verifier-session}.test.ts',
  'test/faults/kill.test.ts',
  'test/e2e/{audit,authorization-code,idempotency,issuance,verification}.test.ts',
]
/** What a run tries on PostgreSQL where it tries all. */
const BOTH_LONG = [
  'test/attacks/issuer-{batch,deferred,notification,tx-code}.test.ts',
  'test/e2e/{db-schema,removed-configuration,retention,session-list,status,status-{events,processes}}.test.ts',
  'test/faults/{backup,rolling-restart}.test.ts',
]
/** What starts the most processes, what takes longest, and what reads documents and packages: a run tries it where it tries all. */
const LONG = [
  'test/faults/{backup,connections,database-lost,disk-full,engine-{crash,faults},postgresql-*,restore,rolling-restart,shared-file,status-events-process}.test.ts',
  'test/e2e/{command-words,demo,doctor-*,events,exit-status,init,keys,log-reader,metrics,openapi,operator,output-lost,renewal,secret}.test.ts',
  'test/e2e/{status-{disk,events,list-export,processes},stopping,telemetry,wallet-authorization-code,workers}.test.ts',
  'test/e2e/{db-*,postgresql,postgresql-{db-messages,engine},retention,session-list,status}.test.ts',
  'test/e2e/engine-{installation,signing,start,tls,uploads,watching}.test.ts',
  'test/e2e/oidf-*.test.ts',
  'components/*/{sandbox,suite}.test.ts',
  'src/{bin/embedded-database/database-file,store/sqlite-threads}.test.ts',
  'test/attacks/{component-{modules,scripts},memory}.test.ts',
  'test/chain/{command,local-gas,processes,serve}.test.ts',
  'test/{deploy,docs,package,release,server-library-types}.test.ts',
  'test/{,e2e/}*-doc.test.ts',
]
/**
 * What another version of Node has no part in: it ran on the first. The second runs what uses Node's own parts, which
 * are SQLite, cryptography, HTTP, processes and threads.
 */
const WITHOUT_NODE = [
  'components/**/*.test.ts',
  'test/chain/local*.test.ts',
  'test/{architecture,docs,package,release,server-library-types,settings,site,snippets,trips,words}.test.ts',
  'test/e2e/{check-descriptions,command-words,completion,conflicts,doctor*,init,misspelt,oidf-*,openapi}.test.ts',
]
const isSecondNode = process.env.VOUCHSAFE_TEST_NODE === 'second'
/** `npm test` takes four minutes. CI, `npm run check` and `npm run test:faults` try all, and so does who names files. */
const isAll = process.env.VOUCHSAFE_TEST_ALL === 'yes' || process.argv.slice(2).some((word) => word.includes('/'))

// A limit only ends what hangs: no test depends on how fast or how busy its machine is.
export const shared = {
  isolate: false,
  testTimeout: 600_000,
  hookTimeout: 600_000,
  expect: { poll: { timeout: 300_000 } },
}

/** Tests wait most of their time, for processes, disks and clocks: some six at a time keep two cores busy. */
export const WORKERS = Math.max(6, availableParallelism())

/** Begins with the longest files, which would be waited for at the end: of processes, browsers and searches. */
export class LongFirst extends BaseSequencer {
  async sort(files) {
    const sorted = Map.groupBy(await super.sort(files), ({ project }) => project)
    const isLong = ({ moduleId }) => /\/test\/(e2e|faults|chain|fuzz|browser)\/|docs?\.test\.ts$/.test(moduleId)
    return [...sorted.values()].flatMap((all) => [...all.filter(isLong), ...all.filter((file) => !isLong(file))])
  }
}

export default defineConfig({
  test: {
    maxWorkers: WORKERS,
    sequence: { sequencer: LongFirst },
    reporters: [['default', { summary: false }]],
    projects: [
      {
        test: {
          ...shared,
          name: 'sqlite',
          globalSetup: ['test/support/command-setup.ts', 'test/support/component-setup.js'],
          include: ['{src,sdk,components,test}/**/*.test.ts'],
          exclude: [
            '**/node_modules/**',
            ...OTHERS,
            ...POSTGRESQL,
            ...(isAll ? [] : LONG),
            ...(isSecondNode ? WITHOUT_NODE : []),
          ],
        },
      },
      {
        test: {
          ...shared,
          name: 'postgresql',
          include: [...POSTGRESQL, ...(isSecondNode ? [] : BOTH), ...(isAll ? BOTH_LONG : [])],
          exclude: ['**/node_modules/**', ...(isAll ? [] : LONG)],
          globalSetup: ['test/support/command-setup.ts', 'test/support/postgres-setup.ts'],
          setupFiles: ['test/support/on-postgresql.ts'],
        },
      },
    ],
  },
})
