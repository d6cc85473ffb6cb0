/** The settings of the verification service in `server.json`. */
import type { KeyObject } from 'node:crypto'
import type { Static } from 'typebox'
import * as Type from 'typebox'
import { readAnchorDirectory } from '../config/anchor-directory.ts'
import {
  type CommonConfig,
  checkSettings,
  commonSettings,
  DEFAULT_PORTS,
  type ReadResult,
  readCommon,
  type ServiceDefaults,
} from '../config/common.ts'
import type { Files } from '../config/files.ts'
import { findSelfSignedMistakes } from '../config/haip-certificates.ts'
import { mistakesOf } from '../config/mistakes.ts'
import { readRegistrationCertificate } from '../config/registration-certificate.ts'
import { DEFAULT_RETENTION, MAX_SESSION_SECONDS } from '../config/retention.ts'
import { readTrustLists, type TrustListConfig, TrustListsSetting } from '../config/trust-lists.ts'
import { algorithmOf } from '../keys/signature.ts'
import type { TrustAnchor } from '../keys/trust-path.ts'
import { IMAGE_URI_RULE, imageProblem, isImageUri } from '../protocol/image-uri.ts'
import { isPrivateHost } from '../protocol/private-host.ts'

/** The default of `presentationBytes`. */
const PRESENTATION_BYTES = 524_288
/** The default of `requestLifetimeSeconds`. */
const REQUEST_LIFETIME_SECONDS = 600

export const VerifierSettings = Type.Object(
  {
    ...commonSettings,
    clientMetadata: Type.Optional(
      Type.Object(
        {
          clientName: Type.Optional(Type.String({ minLength: 1, description: 'Verifier name shown to the holder' })),
          logoUri: Type.Optional(
            Type.String({ maxLength: 65_536, description: 'Logo shown to the holder; a data: URI has 64 KiB at most' }),
          ),
        },
        { additionalProperties: false },
      ),
    ),
    registrationCertificateFile: Type.Optional(
      Type.String({
        description:
          'File with the registration certificate of the operator, a JWT; wallets find it in each request object (verifier_info)',
      }),
    ),
    issuerTrustAnchors: Type.Optional(
      Type.String({
        description:
          'Directory of PEM files; every certificate in them is trusted as an issuer or its CA. Without it and without trustLists, anybody can issue what the verifier accepts',
      }),
    ),
    trustLists: Type.Optional(TrustListsSetting),
    presentationBytes: Type.Optional(
      Type.Integer({
        minimum: 16_384,
        maximum: 1_048_576,
        description: `The most bytes that a wallet may send as its response; ${PRESENTATION_BYTES} when absent`,
      }),
    ),
    issuerIdentifier: Type.Optional(
      Type.Literal('match', {
        description:
          '`match`: a credential fails whose `iss` is not among the names in its certificate; that is a warning when absent',
      }),
    ),
    acceptTlsServerCertificates: Type.Optional(
      Type.Boolean({
        description:
          'Whether certificates for TLS alone may sign credentials and status lists below a trust anchor; not when absent. One that is an anchor itself may always',
      }),
    ),
    profile: Type.Optional(
      Type.Literal('haip', {
        description:
          '`haip`: every response is encrypted, whatever the query asks for, and a self-signed certificate of `signing` is a mistake',
      }),
    ),
    requestLifetimeSeconds: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: MAX_SESSION_SECONDS,
        description: `How long a session waits for its response; ${REQUEST_LIFETIME_SECONDS} when absent`,
      }),
    ),
    status: Type.Optional(
      Type.Object(
        {
          onUnreachable: Type.Optional(
            Type.Union([Type.Literal('reject'), Type.Literal('accept')], {
              description:
                'What becomes of a credential whose status list cannot be fetched: `reject`, or `accept` with a warning in the report; `reject` when absent',
            }),
          ),
          allowPrivateAddresses: Type.Optional(
            Type.Boolean({
              description:
                'Whether status lists and trust lists are fetched from addresses of this machine and its network; when absent, only if `baseUrl` is one itself',
            }),
          ),
        },
        { additionalProperties: false },
      ),
    ),
  },
  { additionalProperties: false },
)

type Settings = Static<typeof VerifierSettings>

export interface VerifierConfig extends CommonConfig {
  readonly clientMetadata: { readonly client_name?: string; readonly logo_uri?: string }
  /** The registration certificate, a JWT; undefined if there is none. */
  readonly registrationCertificate: string | undefined
  /**
   * The trust anchors of the directory; undefined if there are neither anchors nor trust lists. Issuers are then not
   * checked, and each report says so.
   */
  readonly trustAnchors: readonly TrustAnchor[] | undefined
  readonly trustLists: readonly TrustListConfig[]
  /** The maximum size of a response in bytes. */
  readonly presentationBytes: number
  readonly issuerIdentifier: 'match' | undefined
  readonly acceptTlsServerCertificates: boolean
  readonly requestLifetimeSeconds: number
  readonly profile: 'haip' | undefined
  readonly status: { readonly onUnreachable: 'reject' | 'accept'; readonly allowPrivateAddresses: boolean }
}

const NO_ANCHORS_WARNING =
  'issuerTrustAnchors: not configured, so that any certificate will do; a verification then only shows that a credential is well-formed'

/** The title of the OpenAPI document. */
export const verifierTitle = 'Vouchsafe verification service'

export const verifierDefaults: ServiceDefaults = {
  port: DEFAULT_PORTS.verifier,
  databaseFile: 'data/verifier.db',
  signs: 'request',
  retention: DEFAULT_RETENTION.verifier,
}

/** Reads the configuration. Returns all mistakes, each with its path, if there are any. */
export function readVerifierConfig(value: unknown, files: Files, now: Date): ReadResult<VerifierConfig> {
  const shape = checkSettings(VerifierSettings, value)
  const { settings } = shape
  const common = checkProfileKeys(settings.profile, readCommon(shape, files, verifierDefaults, now))
  const trust = readTrust(settings, files, now)
  const registration = readRegistrationCertificate(settings.registrationCertificateFile, files, now)
  const clientMetadata = readClientMetadata(settings.clientMetadata)
  if ('mistakes' in common || 'mistakes' in trust || 'mistakes' in registration || 'mistakes' in clientMetadata) {
    return { mistakes: mistakesOf(common, trust, registration, clientMetadata) }
  }
  return {
    config: {
      ...common.config,
      clientMetadata: clientMetadata.members,
      registrationCertificate: registration.registrationCertificate,
      trustAnchors: trust.trustAnchors,
      trustLists: trust.trustLists,
      presentationBytes: settings.presentationBytes ?? PRESENTATION_BYTES,
      issuerIdentifier: settings.issuerIdentifier,
      acceptTlsServerCertificates: settings.acceptTlsServerCertificates ?? false,
      requestLifetimeSeconds: settings.requestLifetimeSeconds ?? REQUEST_LIFETIME_SECONDS,
      profile: settings.profile,
      status: resolveStatusPolicy(settings.status, common.config.baseUrl),
    },
    warnings: [
      ...common.warnings,
      ...algorithmWarnings(common.config.keys.signing.chain[0].publicKey),
      ...registration.warnings,
      ...clientMetadata.warnings,
      ...trust.warnings,
    ],
  }
}

/** Returns `common`, or the mistakes of its keys under the profile. */
function checkProfileKeys(profile: 'haip' | undefined, common: ReadResult<CommonConfig>): ReadResult<CommonConfig> {
  if (profile === undefined || 'mistakes' in common) return common
  const mistakes = findSelfSignedMistakes('verifier', { signing: common.config.keys.signing })
  return mistakes.length > 0 ? { mistakes } : common
}

/** Reads the trust anchors, and the settings of trust lists. */
function readTrust({ issuerTrustAnchors, trustLists: listSettings }: Partial<Settings>, files: Files, now: Date) {
  const anchors = readAnchorDirectory('issuerTrustAnchors', issuerTrustAnchors, files, now)
  const lists = readTrustLists(listSettings, files, now)
  if ('mistakes' in anchors || 'mistakes' in lists) return { mistakes: mistakesOf(anchors, lists) }
  const { trustLists } = lists
  if (issuerTrustAnchors === undefined && trustLists.length === 0) {
    return { trustAnchors: undefined, trustLists, warnings: [NO_ANCHORS_WARNING] }
  }
  return { trustAnchors: anchors.certificates, trustLists, warnings: [...anchors.warnings, ...lists.warnings] }
}

/** Returns the members of `client_metadata` that the operator sets. */
function readClientMetadata({
  clientName,
  logoUri,
}: NonNullable<Settings['clientMetadata']> = {}):
  | { readonly members: VerifierConfig['clientMetadata']; readonly warnings: readonly string[] }
  | { readonly mistakes: readonly string[] } {
  const setting = 'clientMetadata.logoUri'
  if (logoUri !== undefined && !isImageUri(logoUri)) return { mistakes: [`${setting}: ${IMAGE_URI_RULE}`] }
  const problem = logoUri && imageProblem(logoUri)
  return {
    members: {
      ...(clientName === undefined ? {} : { client_name: clientName }),
      ...(logoUri === undefined ? {} : { logo_uri: logoUri }),
    },
    warnings: problem ? [`${setting}: ${problem}`] : [],
  }
}

function resolveStatusPolicy(
  { onUnreachable = 'reject', allowPrivateAddresses }: NonNullable<Settings['status']> = {},
  baseUrl: string,
): VerifierConfig['status'] {
  return {
    onUnreachable,
    allowPrivateAddresses: allowPrivateAddresses ?? isPrivateHost(new URL(baseUrl).hostname),
  }
}

/**
 * Returns a warning unless the signing key is for ES256, the only algorithm that all HAIP wallets support. HAIP 1.0,
 * Crypto Suites.
 */
function algorithmWarnings(signingKey: KeyObject): string[] {
  const algorithm = algorithmOf(signingKey)
  if (algorithm === 'ES256') return []
  return [`signing: the key is for ${algorithm}, and wallets of the HAIP profile need only take ES256 (EC on P-256)`]
}
