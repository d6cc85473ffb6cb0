/** What a credential says of where its status is published, and whether it says what was ordered. */
import { isDeepStrictEqual } from 'node:util'
import type { JsonObject } from '../codec/json.ts'
import type { Evidence, Order } from './format.ts'

/** The member `status`, when there is one to name. Token Status List, Referenced Token. */
export function statusMember({ status }: Order): { readonly status?: JsonObject } {
  return status === undefined ? {} : { status: { status_list: { idx: status.index, uri: status.uri } } }
}

/** Whether the credential names the entry that was ordered for it, or none when none was. */
export function hasOrderedStatus(order: Order, { status }: Pick<Evidence, 'status'>): boolean {
  return isDeepStrictEqual(status, statusMember(order).status)
}
