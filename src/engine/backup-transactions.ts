/**
 * Gives up the transactions that wait in a restored backup. The chain may have had them since the backup was made, and
 * the row of a transaction that was signed again since lacks its newest signature.
 */
import { finishRestore } from '../store/generation.ts'
import type { UpdateEffects } from '../store/store.ts'
import type { EngineCollections } from './collections.ts'
import { failedTransactionInsert, type OutboxEffects } from './outbox-outcomes.ts'
import { readEveryRowOnce } from './outbox-rows.ts'

type BackupEffects = Pick<OutboxEffects, 'now' | 'log'> & UpdateEffects<EngineCollections>

const WHY =
  'it waited in a backup that was restored, and may have been sent since; a component asks again for what is still to be done'

/** Moves every row of the outbox from before a restore to the failed transactions, once after each restore. */
export async function giveUpBackupTransactions(effects: BackupEffects): Promise<void> {
  const { store, now, log } = effects
  const count = await finishRestore(effects, {
    voidOpen: async (restoredAt) => {
      let givenUp = 0
      await readEveryRowOnce(store, async ({ id, version, value: { contract, createdAt, signed } }) => {
        // A running engine that notices the restore, as when a standby takes over, goes on taking transactions.
        if (createdAt > restoredAt.getTime()) return
        const value = {
          contract,
          why: WHY,
          at: now().getTime(),
          ...(signed === undefined ? {} : { hash: signed.hash }),
        }
        await store.commit([{ delete: 'outbox', id, version, erases: true }, failedTransactionInsert(id, value)])
        givenUp += 1
      })
      return givenUp
    },
    recordRestore: () => [],
  })
  if (count === undefined || count === 0) return
  const line = { event: 'transactions_of_backup', transactions: count }
  log.warn(line, 'transactions that waited in the restored backup were given up: they may have been sent since')
}
