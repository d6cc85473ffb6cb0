/** The input of the doctor: a configuration, of which only some settings may be valid. */
import type { AnchorSetting } from '../../config/anchor-directory.ts'
import type { ServiceDefaults } from '../../config/common.ts'
import type { readDatabase } from '../../config/database.ts'
import type { Files } from '../../config/files.ts'
import type { KeySettings } from '../../config/service-keys.ts'
import type { KeyAndCertificates } from '../../config/signing.ts'
import type { ServiceAddress } from './address.ts'
import type { findEncryptionFindings } from './encryption.ts'

/** The settings of any service that have the right form. */
export interface Settings extends Readonly<Partial<Record<AnchorSetting, string>>> {
  readonly port?: number
  readonly profile?: string
  readonly host?: string
  readonly baseUrl?: string
  readonly management?: ServiceAddress['management']
  readonly database?: Parameters<typeof readDatabase>[0]
  readonly signing?: KeySettings['signing']
  readonly keys?: KeySettings['keys']
  readonly tls?: KeyAndCertificates
  readonly issuer?: { readonly id: string; readonly display: { readonly name: string } }
  readonly clientMetadata?: { readonly clientName?: string }
  readonly secretsFile?: string
  readonly trustLists?: readonly { readonly signerTrustAnchors: string }[]
  readonly retention?: Parameters<typeof findEncryptionFindings>[0]['retention']
}

/** A configuration, and access to its files. */
export interface DoctorInput {
  readonly settings: Settings
  readonly files: Files
  readonly at: Date
  readonly signs: ServiceDefaults['signs']
}
