/** The TLS options of servers: TLS 1.3, and TLS 1.2 with forward secrecy and authenticated encryption. */
import type { ReadKey } from './signing.ts'

/** Options for a TLS server of Node. */
export interface ServerTls {
  readonly key: string
  readonly cert: string
  readonly minVersion: 'TLSv1.2'
  readonly ciphers: string
  readonly honorCipherOrder: boolean
}

/** The cipher suites of TLS 1.3, followed by those of TLS 1.2 that RFC 9325 section 4.2 recommends. */
const SUITES = [
  'TLS_AES_128_GCM_SHA256',
  'TLS_AES_256_GCM_SHA384',
  'TLS_CHACHA20_POLY1305_SHA256',
  'ECDHE-ECDSA-AES128-GCM-SHA256',
  'ECDHE-ECDSA-AES256-GCM-SHA384',
  'ECDHE-RSA-AES128-GCM-SHA256',
  'ECDHE-RSA-AES256-GCM-SHA384',
]

/** Makes the TLS options for a key and its certificates. */
export function createServerTls({ keyPem, certificatePem }: Pick<ReadKey, 'keyPem' | 'certificatePem'>): ServerTls {
  return {
    key: keyPem,
    cert: certificatePem,
    minVersion: 'TLSv1.2',
    ciphers: SUITES.join(':'),
    honorCipherOrder: true,
  }
}
