/** What a row of a table of attacks says. The tables are in the files beside this one, one for each subject. */
import { evidenceChecks } from '../../src/verifier/checks/index.ts'
import type { Forgery, World } from '../support/forge.ts'
import type { Profile } from '../support/profiles.ts'

export interface Attack {
  /** In a sentence. */
  readonly attack: string
  /** The module of the OpenID Foundation's conformance suite that does the same. */
  readonly module?: string
  /** The id of the one check that must fail. */
  readonly fails: string
  /** The ids of the checks that are then not run. All others must pass. */
  readonly notRun?: readonly string[]
  /** Members of the credential query that differ from the usual one. */
  query?(profile: Profile): Readonly<Record<string, unknown>>
  /** Members of the DCQL query itself that differ. */
  dcql?(profile: Profile): Readonly<Record<string, unknown>>
  /** `transaction_data` of the session; the good presentation approves them. */
  readonly transactions?: readonly object[]
  /** Makes the one thing wrong. */
  change?(forgery: Forgery, world: World): void | Promise<void>
  /** The `vp_token`, when it is not the one presentation under the one id. */
  vpToken?(presentation: string): unknown
}

/** What is not run after a check has failed: these depend on it, directly or not. */
export const after = {
  reading: evidenceChecks.map(({ id }) => id),
  binding: [
    'holder.signature',
    'holder.nonce',
    'holder.audience',
    'holder.fresh',
    'holder.sd_hash',
    'holder.transaction_data',
  ],
  signature: ['issuer.trusted', 'status.valid'],
  certificate: ['issuer.trusted', 'status.valid'],
  noCertificate: ['issuer.signature', 'issuer.trusted', 'issuer.identifier', 'status.valid'],
  trust: ['status.valid'],
  disclosures: ['query.claims', 'query.values'],
  claims: ['query.values'],
} satisfies Readonly<Record<string, readonly string[]>>
