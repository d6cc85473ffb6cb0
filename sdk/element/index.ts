/** `vouchsafe/element`: defines `<vouchsafe-request>` for the page that imports it. */
import { VouchsafeRequest, type VouchsafeRequestEventMap } from './request-element.ts'

export type { RequestStatus } from './status.ts'
export { VouchsafeRequest, type VouchsafeRequestEventMap }

declare global {
  interface HTMLElementTagNameMap {
    'vouchsafe-request': VouchsafeRequest
  }
}

if ('customElements' in globalThis && customElements.get('vouchsafe-request') === undefined) {
  customElements.define('vouchsafe-request', VouchsafeRequest)
}
