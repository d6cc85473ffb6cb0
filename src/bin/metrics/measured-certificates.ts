/** The certificates in a configuration that must be renewed: those of keys and TLS, and trust anchors. */
import { ANCHOR_SETTINGS, type AnchorSetting } from '../../config/anchor-directory.ts'
import type { ServerTls } from '../../config/server-tls.ts'
import { type Certificate, readPemCertificates, sentCertificates } from '../../keys/certificate.ts'
import { listKeys, type ServiceKeys } from '../../keys/key-ring.ts'
import type { MeasuredCertificate } from './state-metrics.ts'

/** The settings with certificates; each service has some of them. */
export interface CertificateSettings {
  readonly keys?: ServiceKeys
  readonly tls: ServerTls | undefined
  /** The anchors of `issuerTrustAnchors`. */
  readonly trustAnchors?: readonly Certificate[] | undefined
  /** The lists of `trustLists`, whose `signerTrustAnchors` are measured. */
  readonly trustLists?: readonly { readonly signerAnchors: readonly Certificate[] }[]
  readonly keyAttestationTrustAnchors?: readonly Certificate[]
  /** The anchors of `walletProviderTrustAnchors`. */
  readonly clientAuthentication?: { readonly anchors: readonly Certificate[] } | undefined
}

/** Returns the anchors of each setting. */
const anchorsOf: Readonly<Record<AnchorSetting, (config: CertificateSettings) => readonly Certificate[] | undefined>> =
  {
    issuerTrustAnchors: ({ trustAnchors }) => trustAnchors,
    keyAttestationTrustAnchors: (config) => config.keyAttestationTrustAnchors,
    walletProviderTrustAnchors: ({ clientAuthentication }) => clientAuthentication?.anchors,
  }

/** Returns the certificates of a configuration, each with the setting that it belongs to. */
export function listCertificates(config: CertificateSettings): readonly MeasuredCertificate[] {
  const { keys, tls, trustLists = [] } = config
  const chains: [key: string, chain: readonly Certificate[]][] = [
    ...(keys === undefined ? [] : listKeys(keys).map(([key, { chain }]): [string, typeof chain] => [key, chain])),
    ...(tls === undefined ? [] : [['tls', readPemCertificates(tls.cert)] as [string, Certificate[]]]),
  ]
  return [
    ...chains.flatMap(([key, chain]) =>
      sentCertificates(chain).map(({ notAfter }, index) => {
        const certificate = index === 0 ? ('own' as const) : ('intermediate' as const)
        return { key, certificate, notAfter }
      }),
    ),
    ...ANCHOR_SETTINGS.flatMap((key) => measureAnchors(key, anchorsOf[key](config) ?? [])),
    ...trustLists.flatMap(({ signerAnchors }, index) =>
      measureAnchors(`trustLists[${index}].signerTrustAnchors`, signerAnchors),
    ),
  ]
}

function measureAnchors(key: string, anchors: readonly Certificate[]): readonly MeasuredCertificate[] {
  return anchors.map(({ notAfter }) => ({ key, certificate: 'anchor', notAfter }))
}
