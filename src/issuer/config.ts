/** The settings of the issuance service in `server.json`. */
import type { Static } from 'typebox'
import * as Type from 'typebox'
import { readAnchorDirectory } from '../config/anchor-directory.ts'
import {
  type CodeFlowConfig,
  codeFlowSettings,
  findCodeFlowMistakes,
  resolveCodeFlow,
} from '../config/authentication.ts'
import {
  type AuthorizationServerConfig,
  AuthorizationServerSetting,
  findAuthorizationServerMistakes,
  resolveAuthorizationServer,
} from '../config/authorization-server.ts'
import {
  type ClientAuthentication,
  clientAuthenticationSettings,
  readClientAuthentication,
} from '../config/client-authentication.ts'
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
import { mistakesOf } from '../config/mistakes.ts'
import { readRegistrationCertificate } from '../config/registration-certificate.ts'
import type { Requirement } from '../config/requirement.ts'
import { DEFAULT_RETENTION } from '../config/retention.ts'
import { readRevocationList } from '../config/revocation-list.ts'
import { readSecretsFile } from '../config/secrets-file.ts'
import { IssuerKeys } from '../config/service-keys.ts'
import { resolveWalletProofs, type WalletProofConfig, walletProofSettings } from '../config/wallet-proofs.ts'
import { createPublicDocument, type PublicDocument } from '../http/document.ts'
import { type Certificate, isSameSubjectOfSameCa, isSignedBy } from '../keys/certificate.ts'
import { identifierProblem } from '../keys/certificate-identifier.ts'
import { EXTENDED_KEY_USAGE } from '../keys/certificate-purpose.ts'
import type { ServiceKeys } from '../keys/key-ring.ts'
import { isLoopback } from '../protocol/private-host.ts'
import {
  addProfileDefaults,
  findProfileKeyMistakes,
  findProfileMistakes,
  ProfileSetting,
  tokenAlgorithmsOf,
} from './haip.ts'
import { findIssuerMistakes, type IssuerIdentity, IssuerSetting, resolveIssuer } from './issuer-identity.ts'

const ENTRIES = { least: 2 ** 10, most: 2 ** 20, default: 2 ** 17 }
const TTL_SECONDS = 300

const StatusListSettings = Type.Object(
  {
    entries: Type.Optional(
      Type.Integer({
        description: `Credentials for each status list, a power of two from ${ENTRIES.least} to ${ENTRIES.most}; ${ENTRIES.default} when absent`,
      }),
    ),
    ttlSeconds: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: 86_400,
        description: `How long others may keep a status list before they look again; ${TTL_SECONDS} when absent`,
      }),
    ),
  },
  { additionalProperties: false },
)

export const IssuerSettings = Type.Object(
  {
    ...commonSettings,
    keys: Type.Optional(IssuerKeys),
    issuer: IssuerSetting,
    profile: Type.Optional(ProfileSetting),
    authorizationServer: Type.Optional(AuthorizationServerSetting),
    ...codeFlowSettings,
    secretsFile: Type.Optional(
      Type.String({
        description:
          'File with the secrets that codes, nonces and tokens are derived from, one a line, 32 bytes in base64. New values use the first line; values of all lines are accepted. Derived from the signing key when absent',
      }),
    ),
    registrationCertificateFile: Type.Optional(
      Type.String({
        description:
          'File with the registration certificate of the operator, a JWT; wallets find it in the metadata (issuer_info)',
      }),
    ),
    revocationListFile: Type.Optional(
      Type.String({
        description:
          'PEM file with the revocation list (CRL) of the CA of the signing certificate; it is served at /issuer-ca.crl',
      }),
    ),
    keyAttestationTrustAnchors: Type.Optional(
      Type.String({
        description:
          'Directory of PEM files; every certificate in them is trusted to attest the keys of wallets, or to be the CA of one that is',
      }),
    ),
    ...clientAuthenticationSettings,
    credentialEncryption: Type.Optional(
      Type.Union([Type.Literal('optional'), Type.Literal('required'), Type.Literal('off')], {
        description:
          'Whether credential requests and responses must be encrypted; each wallet may when absent. With `off` none may, and the metadata has no key for it: some wallets read no metadata with one',
      }),
    ),
    statusList: Type.Optional(StatusListSettings),
    ...walletProofSettings,
    compatibility: Type.Optional(
      Type.Array(Type.Union([Type.Literal('draft13')]), {
        uniqueItems: true,
        description: 'Older wallets to serve beside those of the drafts 14, 15 and the final specification',
      }),
    ),
  },
  { additionalProperties: false },
)

type Settings = Static<typeof IssuerSettings>

export interface IssuerConfig extends CommonConfig, WalletProofConfig {
  readonly profile: 'haip' | undefined
  /** The external authorization server; undefined when this service issues the access tokens. */
  readonly authorizationServer: AuthorizationServerConfig | undefined
  /**
   * The trusted wallet providers, and whether wallet attestations are required; undefined where wallets are not
   * authenticated.
   */
  readonly clientAuthentication: ClientAuthentication | undefined
  /** The registration certificate, a JWT; undefined if there is none. */
  readonly registrationCertificate: string | undefined
  /** The revocation list of the CA, in DER; undefined if there is none. */
  readonly revocationList: PublicDocument | undefined
  /** The settings of the authorization code flow; undefined where it is not configured. */
  readonly codeFlow: CodeFlowConfig | undefined
  /** The trust anchors of key attestations. Without any, a configuration cannot require key attestations. */
  readonly keyAttestationTrustAnchors: readonly Certificate[]
  readonly issuer: IssuerIdentity
  /** Whether requests and responses of the credential endpoint may be encrypted, must be, or are never. */
  readonly credentialEncryption: Requirement | 'off'
  readonly statusList: { readonly entries: number; readonly ttlSeconds: number }
  /** Whether wallets of draft 13 are served: token responses then have a `c_nonce`. */
  readonly draft13: boolean
}

/** The title of the OpenAPI document. */
export const issuerTitle = 'Vouchsafe issuance service'

export const issuerDefaults: ServiceDefaults = {
  port: DEFAULT_PORTS.issuer,
  databaseFile: 'data/issuer.db',
  signs: 'credential',
  retention: DEFAULT_RETENTION.issuer,
}

/** Reads the configuration. Returns all mistakes, each with its path, if there are any. */
export function readIssuerConfig(value: unknown, files: Files, now: Date): ReadResult<IssuerConfig> {
  const checked = checkSettings(IssuerSettings, value)
  const shape = { ...checked, settings: addProfileDefaults(checked.settings) }
  const common = readCommon(
    { ...shape, mistakes: [...shape.mistakes, ...entriesMistakes(shape.settings.statusList?.entries)] },
    files,
    issuerDefaults,
    now,
  )
  const ownFiles = readOwnFiles(shape.settings, files, now)
  const isProfiled = shape.settings.profile === 'haip' && 'config' in common
  const keyMistakes = isProfiled ? findProfileKeyMistakes(common.config.keys) : []
  if ('mistakes' in common || 'mistakes' in ownFiles || keyMistakes.length > 0) {
    return { mistakes: [...mistakesOf(common, ownFiles), ...keyMistakes] }
  }
  const settings = shape.settings as Settings
  const { secrets, warnings, ...fileMembers } = ownFiles
  return {
    config: {
      ...common.config,
      ...ownSettings(settings),
      ...fileMembers,
      keys: { ...common.config.keys, secrets },
    },
    warnings: [
      ...common.warnings,
      ...identifierWarnings(common.config.keys.signing.chain, settings.issuer.id),
      ...localIdentifierWarnings(settings.issuer.id, common.config.baseUrl),
      ...statusListWarnings(common.config.keys, settings.issuer.id),
      ...warnings,
    ],
  }
}

/** Reads the files of settings that only an issuer has, and finds the mistakes that these settings cause. */
function readOwnFiles(settings: Partial<Settings>, files: Files, now: Date) {
  const anchors = readAnchorDirectory('keyAttestationTrustAnchors', settings.keyAttestationTrustAnchors, files, now)
  const authentication = readClientAuthentication(settings, files, now)
  const registration = readRegistrationCertificate(settings.registrationCertificateFile, files, now)
  const revocation = readRevocationList(settings.revocationListFile, files)
  const secrets = readSecretsFile(settings, files)
  const settingMistakes = findSettingMistakes(settings)
  if (
    'mistakes' in anchors ||
    'mistakes' in authentication ||
    'mistakes' in registration ||
    'mistakes' in revocation ||
    'mistakes' in secrets ||
    settingMistakes.length > 0
  ) {
    return { mistakes: [...mistakesOf(anchors, authentication, registration, revocation, secrets), ...settingMistakes] }
  }
  return {
    keyAttestationTrustAnchors: anchors.certificates,
    clientAuthentication: authentication.clientAuthentication,
    registrationCertificate: registration.registrationCertificate,
    revocationList: revocation.revocationList && createPublicDocument(revocation.revocationList),
    secrets: secrets.secrets,
    warnings: [...anchors.warnings, ...authentication.warnings, ...registration.warnings],
  }
}

/** Returns the settings that only an issuer has and that name no file. */
function ownSettings(settings: Settings) {
  const { issuer, authorizationServer, credentialEncryption, compatibility, statusList } = settings
  return {
    profile: settings.profile,
    issuer: resolveIssuer(issuer),
    authorizationServer: authorizationServer && resolveAuthorizationServer(authorizationServer),
    codeFlow: resolveCodeFlow(settings),
    statusList: {
      entries: statusList?.entries ?? ENTRIES.default,
      ttlSeconds: statusList?.ttlSeconds ?? TTL_SECONDS,
    },
    credentialEncryption: credentialEncryption ?? 'optional',
    ...resolveWalletProofs(settings, tokenAlgorithmsOf(settings.profile)),
    draft13: compatibility?.includes('draft13') ?? false,
  } as const
}

function findSettingMistakes(settings: Partial<Settings>): string[] {
  return [
    ...findIssuerMistakes(settings.issuer),
    ...findAuthorizationServerMistakes(settings.authorizationServer),
    ...findCodeFlowMistakes(settings),
    ...findProfileMistakes(settings),
  ]
}

function entriesMistakes(entries: number = ENTRIES.default): string[] {
  const fits = entries >= ENTRIES.least && entries <= ENTRIES.most && Number.isInteger(Math.log2(entries))
  return fits ? [] : [`statusList.entries: must be a power of two from ${ENTRIES.least} to ${ENTRIES.most}`]
}

/** Returns a warning if `issuer.id` is not one of the certificate's names, since verifiers compare the two. */
function identifierWarnings([leaf]: readonly Certificate[], issuerId: string): string[] {
  const problem = leaf?.hasSubjectAltName ? identifierProblem(leaf, issuerId) : undefined
  return problem === undefined ? [] : [`issuer.id: ${problem}; verifiers that compare the two refuse what it signs`]
}

/** Returns a warning if `issuer.id` has a local host and `baseUrl` does not. */
function localIdentifierWarnings(issuerId: string, baseUrl: string): string[] {
  const isLocal = (url: string): boolean => URL.canParse(url) && isLoopback(new URL(url).hostname)
  if (!isLocal(issuerId) || isLocal(baseUrl)) return []
  return [`issuer.id: credentials name ${issuerId}, which is this machine; set it, and its certificate, to ${baseUrl}`]
}

/** Tests whether the CA of a document signer for mdocs (IACA) certified a signer of lists, which needs no purpose. */
function isOfDocumentSigner({ extendedKeyUsage, isCa, issuer }: Certificate, signingLeaf: Certificate): boolean {
  const isDocumentSigner = signingLeaf.extendedKeyUsage?.includes(EXTENDED_KEY_USAGE.mdlDocumentSigner) === true
  return extendedKeyUsage === undefined && !isCa && isDocumentSigner && issuer.equals(signingLeaf.issuer)
}

/**
 * Returns a warning if status lists have a key of their own that verifiers would refuse: they accept a status list only
 * of the same issuer, or of a trusted provider of status lists.
 */
function statusListWarnings({ signing, statusLists }: ServiceKeys, issuerId: string): string[] {
  const [[signingLeaf], [leaf, ca]] = [signing.chain, statusLists?.chain ?? []]
  if (leaf === undefined) return []
  const isProvider =
    leaf.extendedKeyUsage?.includes(EXTENDED_KEY_USAGE.statusSigning) === true || isOfDocumentSigner(leaf, signingLeaf)
  // The verifier wants a CA that signed both; a CA that is not sent along is its anchor.
  const isSameIssuer = isSameSubjectOfSameCa(leaf, signingLeaf) && (ca === undefined || isSignedBy(signingLeaf, ca))
  if (isSameIssuer || isProvider || identifierProblem(leaf, issuerId) === undefined) return []
  const names = 'the subject and authority of the signing certificate, or issuer.id as an alternative name'
  return [`keys.statusLists: verifiers refuse lists by ${leaf.subjectText}; get a certificate with ${names}`]
}
