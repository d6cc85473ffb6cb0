/** What a service is given of the outside world. */
import type { Logger } from 'pino'
import type { Store } from '../store/store.ts'
import type { Outbound } from './outbound.ts'

export interface Effects<C> {
  readonly store: Store<C>
  readonly outbound: Outbound
  readonly now: () => Date
  readonly random: (bytes: number) => Uint8Array
  readonly log: Logger
}
