/** Says which trust lists, and so which trust anchors, count for one presentation: by the type that is asked for. */
import { type JsonObject, memberOf } from '../../codec/json.ts'
import type { CredentialFormat } from '../../credential/format.ts'
import type { Certificate } from '../../keys/certificate.ts'
import type { CurrentTrustList } from './current.ts'

/** The type that every W3C credential has. */
const BASE_TYPE = 'VerifiableCredential'

/**
 * Returns the lists as they count for a credential of these types. A list that has types must have every type by which
 * the credential answers `meta` of its query; where `meta` asks for none of them, it must have all. One type would not
 * do: an issuer that is trusted for it could name another beside it (`aka_vcts`, or `type` of the W3C).
 */
export function judgeTrustLists(
  trustLists: readonly CurrentTrustList[],
  types: readonly string[],
  meta: JsonObject,
  { metaMember }: Pick<CredentialFormat, 'metaMember'>,
): readonly CurrentTrustList[] {
  const ownTypes = types.filter((type) => type !== BASE_TYPE)
  const requestedTypes: readonly unknown[] = [memberOf(meta, metaMember)].flat(2)
  const answeringTypes = ownTypes.filter((type) => requestedTypes.includes(type))
  const decidingTypes = answeringTypes.length > 0 ? answeringTypes : ownTypes
  return trustLists.map((list) => {
    const { credentialTypes } = list
    if (credentialTypes === undefined) return list
    const hasTypes = decidingTypes.length > 0 && decidingTypes.every((type) => credentialTypes.includes(type))
    return hasTypes ? list : { ...list, anchors: [], problem: 'it is for other types of credentials' }
  })
}

/** Returns the anchors of the directory and of the lists; undefined if there are neither anchors nor lists. */
export function joinAnchors(
  trustAnchors: readonly Certificate[] | undefined,
  trustLists: readonly CurrentTrustList[],
): readonly Certificate[] | undefined {
  if (trustAnchors === undefined || trustLists.length === 0) return trustAnchors
  return [...trustAnchors, ...trustLists.flatMap(({ anchors }) => anchors)]
}

/** Returns the URLs of the lists that have a certificate of the path. */
export function findListsOfPath(
  path: readonly Certificate[],
  trustLists: readonly CurrentTrustList[],
): readonly string[] {
  const fingerprints = path.map(({ fingerprint }) => fingerprint)
  return trustLists
    .filter(({ anchors }) => anchors.some(({ fingerprint }) => fingerprints.includes(fingerprint)))
    .map(({ url }) => url)
}

/** Describes the lists that do not count, for the report; an empty text if all do. */
export function missingListsText(trustLists: readonly CurrentTrustList[]): string {
  return trustLists
    .flatMap(({ url, problem }) => (problem === undefined ? [] : `The trust list ${url} does not count: ${problem}. `))
    .join('')
}
