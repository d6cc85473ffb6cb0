/** Attacks with mobile documents on the response as a whole, and on the authority above the issuer. */
import type { MdocForgery } from '../support/mdoc.ts'
import type { Attack } from './attack.ts'

export const mdocResponseAttacks: readonly Attack<MdocForgery>[] = [
  {
    attack: 'The wallet answers with no mobile document at all under the right id.',
    fails: 'query.count',
    vpToken: () => ({ licence: [] }),
  },
  {
    attack: 'The wallet sends the mobile document twice where one was asked for.',
    fails: 'query.count',
    vpToken: (presentation) => ({ licence: [presentation, presentation] }),
  },
  {
    attack: 'The wallet sends the mobile document under another id only.',
    fails: 'query.complete',
    vpToken: (presentation) => ({ Licence: [presentation] }),
  },
  {
    attack: 'The wallet sends the mobile document under a second id that nobody asked for.',
    fails: 'query.complete',
    vpToken: (presentation) => ({ licence: [presentation], other: [presentation] }),
  },
  {
    attack: 'The mobile document is by an issuer under another authority than that asked for.',
    fails: 'query.trusted_authorities',
    query: () => ({ trusted_authorities: [{ type: 'aki', values: ['s9tIpPmhxdiuNkHMEWNpYim8S8Y'] }] }),
  },
]
