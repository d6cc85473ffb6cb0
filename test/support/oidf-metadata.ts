/** The checks of `oid4vci-1_0-issuer-metadata-test` on the metadata of issuer and authorization server. */
import { isObject, type Json, type JsonObject, memberOf } from '../../src/codec/json.ts'
import { mistakes } from './oidf-formats.ts'
import { GRANT } from './wire.ts'

const FORMATS = ['jwt_vc_json', 'jwt_vc_json-ld', 'ldp_vc', 'mso_mdoc', 'dc+sd-jwt', 'vc+sd-jwt']
const BINDING_METHODS = /^(jwk|cose_key|did:[a-z0-9]+)$/
const ALGORITHMS = ['ES256', 'ES384', 'ES512', 'EdDSA', 'Ed25519', 'PS256', 'RS256']
const COSE_ALGORITHMS = [-7, -8, -9, -19, -35, -36, -51, -52]
const PRIVATE_MEMBERS = ['d', 'p', 'q', 'dp', 'dq', 'qi', 'k', 'oth']

/**
 * Finds the mistakes in issuer metadata, as sentences; none when the document is right for the identifier that led to
 * it.
 */
export function metadataMistakes(document: JsonObject, identifier: string): readonly string[] {
  const configurations = document.credential_configurations_supported as JsonObject
  const endpoints = Object.entries(document).filter(([name]) => name.endsWith('_endpoint'))
  const servers = document.authorization_servers
  return [
    ...mistakes({
      'credential_issuer is the identifier that led here, byte for byte': document.credential_issuer === identifier,
      'credential_issuer is https, without query, fragment or final slash': /^https:\/\/[^?#]+[^/?#]$/.test(identifier),
      'there is a credential endpoint': typeof document.credential_endpoint === 'string',
      'there is a nonce endpoint, since keys are bound': typeof document.nonce_endpoint === 'string',
      'every endpoint is https': endpoints.every(([, url]) => isHttps(url)),
      'authorization_servers has an entry': servers === undefined || (Array.isArray(servers) && servers.length > 0),
      'every authorization server is https': !Array.isArray(servers) || servers.every(isHttps),
      'there are configurations': isObject(configurations) && Object.keys(configurations).length > 0,
      'display is as it should be': document.display === undefined || isDisplay(document.display),
      'a batch has two or more': isBatch(document.batch_credential_issuance),
      'request encryption is complete': isRequestEncryption(document.credential_request_encryption),
      'response encryption is complete': isResponseEncryption(document.credential_response_encryption),
    }),
    ...Object.entries(configurations).flatMap(([id, each]) =>
      configurationMistakes(each as JsonObject).map((mistake) => `${id}: not so: ${mistake}`),
    ),
  ]
}

function configurationMistakes(configuration: JsonObject): readonly string[] {
  const { format, scope, credential_metadata: metadata = {} } = configuration
  const algorithms = memberOf(configuration, 'credential_signing_alg_values_supported')
  const methods = memberOf(configuration, 'cryptographic_binding_methods_supported')
  const proofs = memberOf(configuration, 'proof_types_supported')
  const { display, claims } = metadata as Record<string, Json | undefined>
  return mistakes({
    'the format is one of OpenID4VCI': isText(format, FORMATS),
    'the members of the format are there': hasFormatMembers(configuration),
    'scope has the syntax of RFC 6749': scope === undefined || isText(scope, /^[!#-[\]-~]+$/),
    'algorithms are of the kind of the format': isList(algorithms, (each) => isAlgorithm(each, format === 'mso_mdoc')),
    'binding methods and proof types are both there, or neither': (methods === undefined) === (proofs === undefined),
    'binding methods are known': methods === undefined || isList(methods, (each) => isText(each, BINDING_METHODS)),
    'every proof type names its algorithms': proofs === undefined || isProofTypes(proofs),
    'display is as it should be': display === undefined || isDisplay(display),
    'claims have paths, each once': claims === undefined || isClaims(claims),
    'nothing says how we issue': ['selective_disclosure', 'validity_seconds', 'batch_size'].every(
      (name) => !Object.hasOwn(configuration, name),
    ),
  })
}

/** Finds the mistakes in authorization server metadata (RFC 8414; OpenID4VCI 1.0, Authorization Server Metadata). */
export function serverMistakes(
  server: JsonObject,
  identifier: string,
  metadata: JsonObject,
  grant = GRANT,
): readonly string[] {
  const configurations = Object.values(metadata.credential_configurations_supported as JsonObject)
  const unscoped = configurations.some((each) => !Object.hasOwn(each as JsonObject, 'scope'))
  const { grant_types_supported: grants } = server
  const types = memberOf(server, 'authorization_details_types_supported')
  return mistakes({
    'issuer is the identifier that led here': server.issuer === identifier,
    'the token endpoint is https': isHttps(server.token_endpoint),
    'the JWKS is https': isHttps(server.jwks_uri),
    'the grant of the plan is there': Array.isArray(grants) && grants.includes(grant),
    'wallets without a client id are welcome where the grant is that of an offer':
      grant !== GRANT || server['pre-authorized_grant_anonymous_access_supported'] === true,
    'authorization details are there where a scope is not':
      !unscoped || (Array.isArray(types) && types.includes('openid_credential')),
  })
}

/** Finds the mistakes in a public JWKS. */
export function keyMistakes(jwks: JsonObject): readonly string[] {
  const keys = jwks.keys as readonly JsonObject[]
  return mistakes({
    'there is a key': keys.length > 0,
    'no key is private': keys.every((key) => PRIVATE_MEMBERS.every((name) => !Object.hasOwn(key, name))),
    'every key has its own kid': new Set(keys.map(({ kid }) => kid)).size === keys.length,
    'every key names its use and algorithm': keys.every(({ use, alg }) => use === 'sig' && isAlgorithm(alg, false)),
  })
}

function isText(value: unknown, allowed: RegExp | readonly string[]): boolean {
  if (typeof value !== 'string') return false
  return allowed instanceof RegExp ? allowed.test(value) : allowed.includes(value)
}

function isHttps(value: unknown): boolean {
  return typeof value === 'string' && URL.canParse(value) && value.startsWith('https://')
}

function isList(value: unknown, holds: (each: Json) => boolean): boolean {
  return Array.isArray(value) && value.length > 0 && (value as Json[]).every(holds)
}

function isAlgorithm(value: unknown, cose: boolean): boolean {
  return cose ? COSE_ALGORITHMS.includes(value as number) : ALGORITHMS.includes(value as string)
}

function hasFormatMembers({ format, vct, doctype, credential_definition: definition }: JsonObject): boolean {
  if (format === 'dc+sd-jwt') return typeof vct === 'string' && vct !== ''
  if (format === 'mso_mdoc') return typeof doctype === 'string' && doctype !== ''
  const { type, '@context': context } = (definition ?? {}) as Record<string, unknown>
  return isList(type, (each) => typeof each === 'string') && (format === 'jwt_vc_json' || isList(context, Boolean))
}

function isProofTypes(value: Json): boolean {
  return (
    isObject(value) &&
    Object.entries(value).every(
      ([type, each]) =>
        ['jwt', 'attestation', 'di_vp'].includes(type) &&
        isObject(each) &&
        isList(each.proof_signing_alg_values_supported, (algorithm) => isAlgorithm(algorithm, false)),
    )
  )
}

/** Checks that there is one object for each locale, and that every locale is a tag of BCP 47. */
function isDisplay(value: Json): boolean {
  if (!Array.isArray(value) || value.length === 0) return false
  const locales = value.map((each) => (isObject(each) ? memberOf(each, 'locale') : null))
  const tagged = locales.every((locale) => locale === undefined || isLocale(locale))
  return tagged && new Set(locales).size === locales.length && value.every(isDisplayed)
}

function isDisplayed(value: Json): boolean {
  if (!isObject(value) || typeof value.name !== 'string') return false
  const uris = ['logo', 'background_image'].map((name) => memberOf(value, name)).filter((image) => image !== undefined)
  return uris.every((image) => isObject(image) && typeof image.uri === 'string' && URL.canParse(image.uri))
}

function isLocale(value: Json): boolean {
  try {
    return typeof value === 'string' && Intl.getCanonicalLocales(value).length === 1
  } catch {
    return false
  }
}

function isClaims(value: Json): boolean {
  if (!Array.isArray(value)) return false
  const paths = value.map((each) => JSON.stringify(isObject(each) ? memberOf(each, 'path') : null))
  return (
    new Set(paths).size === paths.length &&
    value.every(
      (each) =>
        isObject(each) &&
        isList(each.path, (step) => step === null || typeof step === 'string' || Number.isInteger(step)) &&
        (each.mandatory === undefined || typeof each.mandatory === 'boolean') &&
        (each.display === undefined || isDisplay(each.display)),
    )
  )
}

function isBatch(value: Json | undefined): boolean {
  return value === undefined || (isObject(value) && Number(value.batch_size) >= 2)
}

function isRequestEncryption(value: Json | undefined): boolean {
  if (value === undefined) return true
  if (!isObject(value) || typeof value.encryption_required !== 'boolean') return false
  const keys = (isObject(value.jwks) ? value.jwks.keys : []) as readonly JsonObject[]
  const areComplete = keys.every(
    ({ kid, alg, d }) => typeof kid === 'string' && typeof alg === 'string' && d === undefined,
  )
  return keys.length > 0 && areComplete && isList(value.enc_values_supported, isEnc)
}

function isResponseEncryption(value: Json | undefined): boolean {
  if (value === undefined) return true
  return (
    isObject(value) &&
    typeof value.encryption_required === 'boolean' &&
    isList(value.alg_values_supported, (each) => typeof each === 'string') &&
    isList(value.enc_values_supported, isEnc)
  )
}

function isEnc(value: Json): boolean {
  return isText(value, /^A(128|192|256)(GCM|CBC-HS(256|384|512))$/)
}
