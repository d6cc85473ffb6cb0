/** The effects that an engine is given, and the context that its parts share. */
import type { Account, Chain } from '../chain/chain.ts'
import type { Runtime } from '../component/runtime.ts'
import type { Effects } from '../http/effects.ts'
import type { TelemetryCounts } from '../http/telemetry-metrics.ts'
import type { Address } from '../offchain/address.ts'
import type { BodyBuffer } from './body.ts'
import type { CallHistory } from './call-history.ts'
import type { EngineCollections } from './collections.ts'
import type { CommitContext } from './commit.ts'
import type { ComponentFiles, FindComponent } from './component-source.ts'
import type { EngineConfig } from './config.ts'
import type { Metrics } from './metrics.ts'
import type { ResponseSigner } from './response-signer.ts'
import type { Watcher } from './watcher.ts'

export interface EngineEffects extends Effects<EngineCollections> {
  readonly chain: Chain
  readonly runtime: Runtime
  readonly files: ComponentFiles
  /** Returns the monotonic time in milliseconds, which no setting of the system clock changes. */
  readonly monotonicMs: () => number
  /** The counts of what was sent to a collector; absent without the setting `telemetry`. */
  readonly telemetryCounts?: TelemetryCounts | undefined
}

export interface EngineContext extends EngineEffects, CommitContext {
  readonly config: EngineConfig
  readonly account: Account
  /** The engine's own address. */
  readonly engine: Address
  readonly metrics: Metrics
  readonly watcher: Watcher
  readonly findComponent: FindComponent
  /** {@link Chain.read} with a cache. */
  readonly readContract: Chain['read']
  readonly bodyBuffer: BodyBuffer
  readonly signer: ResponseSigner
  readonly calls: CallHistory
}
