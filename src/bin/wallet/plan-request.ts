/** The request that a command names: the link of a verifier, or with `--origin` the address of what a page asks. */
import type { WalletContext } from '../../wallet/context.ts'
import { refuseWith } from '../../wallet/error.ts'
import { type PresentationPlan, planPresentation } from '../../wallet/present.ts'

/**
 * Plans the presentation for the request of a command. Refuses with `invalid_link` an address without an origin, and a
 * link with one.
 */
export function planRequest(
  wallet: WalletContext,
  subject: string,
  origin: string | undefined,
): Promise<PresentationPlan> {
  const isAddress = /^https?:/i.test(subject)
  if (isAddress && origin === undefined) {
    refuseWith(
      'invalid_link',
      'this is an address, and a link begins with haip-vp:// or openid4vp://; of a digital_credentials_uri, say with --origin which page asks',
    )
  }
  if (!isAddress && origin !== undefined) {
    refuseWith('invalid_link', '--origin goes with the digital_credentials_uri of a session, and not with a link')
  }
  return planPresentation(wallet, subject, origin)
}
