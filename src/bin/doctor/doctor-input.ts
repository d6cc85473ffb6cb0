/** The input of the doctor: a configuration, as far as it can be read. */
import type { AnchorSetting } from '../../config/anchor-directory.ts'
import type { ServiceDefaults } from '../../config/common.ts'
import type { readDatabase } from '../../config/database.ts'
import type { Files } from '../../config/files.ts'
import type { KeySettings } from '../../config/service-keys.ts'
import type { KeyAndCertificates } from '../../config/signing.ts'
import type { encryptionFindings } from './encryption.ts'

/** The settings of any service without those whose form is wrong. */
export interface Settings extends Readonly<Partial<Record<AnchorSetting, string>>> {
  readonly port?: number
  readonly profile?: string
  readonly host?: string
  readonly baseUrl?: string
  readonly database?: Parameters<typeof readDatabase>[0]
  readonly signing?: KeySettings['signing']
  readonly keys?: KeySettings['keys']
  readonly tls?: KeyAndCertificates
  readonly issuer?: { readonly id: string }
  readonly secretsFile?: string
  readonly retention?: Parameters<typeof encryptionFindings>[0]['retention']
}

/** A configuration, and the access to its files. */
export interface DoctorInput {
  readonly settings: Settings
  readonly files: Files
  readonly at: Date
  readonly signs: ServiceDefaults['signs']
}
