/** The issuer and the verifier as service kinds: a server with a database that encrypts personal data. */
import type { Logger } from 'pino'
import type { CallbackCollections } from '../../callback/queue.ts'
import { ENCRYPTION_KEYS_SETTING } from '../../config/encryption-keys.ts'
import { type EventCollections, makeEventChange } from '../../event/event.ts'
import { createReadinessCheck } from '../../http/readiness.ts'
import { findPkcs11Mistakes, type Pkcs11Mistake } from '../../keys/pkcs11/check.ts'
import { finishRestore, type GenerationCollections } from '../../store/generation.ts'
import { partOf, type Store } from '../../store/store.ts'
import { openEncryptedDatabase, openingFailureOf, openServiceDatabase } from '../database/checked-database.ts'
import { conflictCounts, encryptDatabase, now, outbound, pkcs11Tokens, random, retryOnConflict } from '../effects.ts'
import type { ServiceMetrics } from '../metrics/service-metrics.ts'
import { documentPath } from '../terminal/document-path.ts'
import { createCertificateTask } from './certificate-task.ts'
import { createConflictTask } from './conflict-log.ts'
import { type ConfigOf, type CredentialServiceName, credentialServices, type StoreOf } from './credential-services.ts'
import { type Pkcs11KeyWatch, watchPkcs11Keys } from './pkcs11-key-task.ts'
import { findKeyMistakes } from './reload.ts'
import type { BuiltService, Observability, OpeningFailure, OpeningOptions, ServiceKind } from './service-kind.ts'
import { createTracedEffects } from './telemetry.ts'
import { keepNewSpaceSize } from './v8-new-space.ts'

const REPLACED = `a standby of the database server took over, or a backup was put back: the database may lack the newest changes, and is used again when what was open is void; see ${documentPath('docs/operating.md')}, High availability`
const UNFIT = 'the database cannot be used; it is tried again'

/** Returns the issuer or the verifier as a service kind. */
export function credentialServiceKind<Name extends CredentialServiceName>(
  name: Name,
): ServiceKind<ConfigOf<Name>, StoreOf<Name>> {
  const { settings, readConfig, migrations } = credentialServices[name]
  return {
    name,
    settings,
    readConfig,
    migrations,
    openStore: (config, options) => openStore(name, config, options),
    openParts: (config, log) => openParts(name, config, log),
    buildServer: (config, store, observability) => buildServer(name, config, store, observability),
    closeParts: (store) => store.close(),
    findRestartMistakes: findKeyMistakes,
    onListening: keepNewSpaceSize,
  }
}

async function openParts<Name extends CredentialServiceName>(
  name: Name,
  config: ConfigOf<Name>,
  log: Logger,
): Promise<{ readonly parts: StoreOf<Name> } | OpeningFailure> {
  const mistakes = await findPkcs11Mistakes(config.keys, pkcs11Tokens)
  if (mistakes.length > 0) return openingFailureOfKeys(mistakes)
  const result = await openStore(name, config, { log, onReplaced: createTakeover(name, config, log) })
  if ('mistake' in result) return result
  const { store, voidedSessions } = result
  logVoidedSessions(voidedSessions, log)
  return { parts: store }
}

function openingFailureOfKeys(mistakes: readonly Pkcs11Mistake[]): OpeningFailure {
  return {
    mistake: mistakes.map(({ mistake }) => mistake).join('; '),
    isTemporary: mistakes.every(({ isTemporary }) => isTemporary),
    isPinRefused: mistakes.some(({ isPinRefused }) => isPinRefused),
  }
}

function logVoidedSessions(voidedSessions: number | undefined, log: Logger): void {
  if (voidedSessions === undefined) return
  const line = { event: 'open_sessions_voided', sessions: voidedSessions }
  log.warn(
    line,
    'sessions that were open in the database are void, as they may have been used since; the application begins new ones',
  )
}

/** Opens the database, with encryption if there are keys. Returns a mistake if it cannot be opened. */
async function openStore<Name extends CredentialServiceName>(
  name: Name,
  config: ConfigOf<Name>,
  options: OpeningOptions,
): Promise<{ readonly store: StoreOf<Name>; readonly voidedSessions: number | undefined } | OpeningFailure> {
  const { migrations, encryptedCollections } = credentialServices[name]
  const { database } = config
  const result = await openEncryptedDatabase<StoreOf<Name>>(database, {
    open: () => openServiceDatabase(database, migrations, options),
    encrypt: (plainStore) => encryptDatabase(plainStore as never, encryptedCollections as never, config),
    describeMissingKey: ({ message }) => `${ENCRYPTION_KEYS_SETTING}: ${message}`,
  })
  if ('mistake' in result) return result
  const { store } = result
  try {
    return { store, voidedSessions: await voidOpenSessions(name, store) }
  } catch (error) {
    await store.close()
    const opening = openingFailureOf(database, error)
    if (opening.isTemporary === true) return opening
    throw error
  }
}

/**
 * Ends the open sessions of a restored database, and records the restore in the audit log, once. Returns the number of
 * sessions; undefined if the database was not restored.
 */
function voidOpenSessions<Name extends CredentialServiceName>(
  name: Name,
  store: StoreOf<Name>,
): Promise<number | undefined> {
  const { voidOpen } = credentialServices[name]
  const generations: Store<GenerationCollections & EventCollections> = partOf(store)
  return finishRestore<GenerationCollections & EventCollections, number>(
    { store: generations, retryOnConflict },
    {
      voidOpen: (restoredAt) => voidOpen({ store, now, random, retryOnConflict }, restoredAt),
      recordRestore: (generationId) => [
        makeEventChange({ type: 'database.restored', at: now().getTime(), subject: generationId }, random),
      ],
    },
  )
}

/**
 * Creates the function that opens the database which took the place of the one before, as after a standby of the server
 * took over, and returns its origin. Opening ends the open sessions, as at a start.
 */
function createTakeover<Name extends CredentialServiceName>(
  name: Name,
  config: ConfigOf<Name>,
  log: Logger,
): () => Promise<string> {
  return async () => {
    log.warn({ event: 'database_replaced' }, REPLACED)
    const result = await openStore(name, config, { log }).catch((error: unknown) => {
      log.error({ event: 'database_unfit', err: error }, UNFIT)
      throw error
    })
    if ('mistake' in result) {
      log.error({ event: 'database_unfit', why: result.mistake }, UNFIT)
      throw new Error(result.mistake)
    }
    const { store, voidedSessions } = result
    logVoidedSessions(voidedSessions, log)
    try {
      return await store.readOrigin()
    } finally {
      await store.close()
    }
  }
}

async function buildServer<Name extends CredentialServiceName>(
  name: Name,
  config: ConfigOf<Name>,
  store: StoreOf<Name>,
  { log, telemetry }: Observability,
): Promise<BuiltService<ConfigOf<Name>>> {
  const { createService } = credentialServices[name]
  let current = config
  const getCurrentConfig = () => current
  const pkcs11Keys = watchPkcs11Keys({ keys: config.keys, tokens: pkcs11Tokens, log, now })
  const metrics = config.management && (await createMetrics(name, getCurrentConfig, { store, telemetry, pkcs11Keys }))
  const measuredStore = metrics ? await measureStore(store, metrics) : store
  const effects = {
    store: measuredStore,
    retryOnConflict,
    outbound,
    now,
    random,
    log,
    pkcs11Tokens,
    observer: metrics?.observer,
    ...(telemetry && createTracedEffects(telemetry, measuredStore, config.database)),
    ...(metrics && { inSpan: metrics.steps.timeSteps(telemetry?.inSpan) }),
  }
  const { app, tasks } = await createService(config, {
    ...effects,
    getCurrentConfig,
    recordSignedList: metrics?.recordSignedList,
  })
  return {
    app,
    ...(metrics && { metrics: metrics.registry }),
    tasks: [...tasks, createConflictTask(log), createCertificateTask(getCurrentConfig, log, now), ...pkcs11Keys.tasks],
    renew: (next) => {
      current = next
    },
  }
}

/** Wraps the store, so that the metrics count its commits and time its steps. */
async function measureStore<Name extends CredentialServiceName>(
  store: StoreOf<Name>,
  { steps, observeCommit }: ServiceMetrics,
): Promise<StoreOf<Name>> {
  const { observeCommits } = await import('../metrics/outcome-metrics.ts')
  return steps.timeStore(observeCommits(store, observeCommit))
}

interface MeasuredParts<Name extends CredentialServiceName> {
  readonly store: StoreOf<Name>
  readonly telemetry: Observability['telemetry']
  readonly pkcs11Keys: Pkcs11KeyWatch
}

/** Creates the metrics. Their code is only loaded if metrics are configured. */
async function createMetrics<Name extends CredentialServiceName>(
  name: Name,
  getConfig: () => ConfigOf<Name>,
  { store: serviceStore, telemetry, pkcs11Keys }: MeasuredParts<Name>,
): Promise<ServiceMetrics> {
  const { createServiceMetrics } = await import('../metrics/service-metrics.ts')
  const { listNewestStates, readTrustListEnds } = credentialServices[name]
  const store: Store<GenerationCollections> = partOf(serviceStore)
  const callbackStore: Store<CallbackCollections> = partOf(serviceStore)
  return createServiceMetrics(name, {
    getConfig,
    conflicts: conflictCounts,
    now,
    checkReady: createReadinessCheck({ store, now, random, retryOnConflict }),
    listNewestStates: (limit) => listNewestStates(serviceStore, now, limit),
    readTrustListEnds: () => readTrustListEnds(getConfig(), serviceStore),
    store: callbackStore,
    getPkcs11KeyStates: pkcs11Keys.getStates,
    telemetry: telemetry?.counts,
  })
}
