import type { RuntimeLimits } from './runtime.ts'

const KIB = 1024
const MIB = 1024 * KIB

/** The limits of an engine unless it is configured otherwise. */
export const DEFAULT_LIMITS: RuntimeLimits = {
  memoryBytes: 64 * MIB,
  moduleBytes: 8 * MIB,
  logBytes: 64 * KIB,
  responseBytes: MIB,
  storageKeyBytes: KIB,
  storageValueBytes: MIB,
  storageChanges: 1000,
  transactions: 16,
  transactionBytes: 128 * KIB,
  timers: 32,
  timerBytes: 64 * KIB,
  randomBytes: 64 * KIB,
  outboundRequests: 5,
}
