/**
 * Validates the display metadata of a configuration: names by language, images, claims. Wallets get it as it was
 * posted, so mistakes are refused when it is posted. OpenID4VCI 1.0, Credential Issuer Metadata Parameters and Claims
 * Description.
 */

import { hasControlCharacters, removeDirectionMarks } from '../codec/control-characters.ts'
import type { Json } from '../codec/json.ts'
import { nearestName } from '../codec/misspelling.ts'
import { YEAR_SECONDS } from '../credential/configuration.ts'
import { type ClaimPath, pathText } from '../protocol/claim-path-text.ts'
import { type CredentialConfiguration, METADATA_MEMBERS } from '../protocol/credential-configuration.ts'
import { findNameProblem, type LocalizedName } from '../protocol/display-language.ts'
import { refuse } from '../protocol/error.ts'
import { IMAGE_URI_RULE, imageProblem, isImageUri } from '../protocol/image-uri.ts'
import { refuseMisspeltMember } from '../protocol/misspelt.ts'

type Metadata = NonNullable<CredentialConfiguration['credential_metadata']>

/** The maximum length of a data: URI in the metadata. */
const MAX_DATA_URI = 64 * 1024
/** The members with texts for people; `label` is of type metadata (SD-JWT VC, Claim Display Metadata). */
const TEXTS_FOR_PEOPLE: readonly string[] = ['name', 'description', 'label', 'alt_text']

/**
 * Refuses with `invalid_request` and the path: a blank name, an invalid or repeated locale, an image without an http(s)
 * or data: URI, a data: URI over 64 KiB, a control character, an invalid colour, a claim that is described twice, and a
 * misspelt member name.
 */
export function refuseInvalidCredentialMetadata(configuration: CredentialConfiguration): void {
  const { credential_metadata: metadata } = configuration
  refuseUnfitTexts(configuration as Json, '')
  refuseMisspeltNames(configuration)
  refuseMisspeltDisclosures(configuration)
  const { display = [], claims = [] } = metadata ?? {}
  refuseNames(display, 'credential_metadata.display')
  for (const [path, uri] of listImages(metadata)) refuseUnlessImage(uri, path)
  for (const [index, { background_color: backgroundColor, text_color: textColor }] of display.entries()) {
    refuseColor(backgroundColor, `credential_metadata.display[${index}].background_color`)
    refuseColor(textColor, `credential_metadata.display[${index}].text_color`)
  }
  for (const [index, claim] of claims.entries()) {
    refuseNames(claim.display ?? [], `credential_metadata.claims[${index}].display`)
  }
  refuseRepeatedClaims(claims)
  refuseContraryReuse(configuration)
}

/** Returns a warning, which begins with the path, for each image that some wallets cannot read. */
export function findImageWarnings({ credential_metadata: metadata }: CredentialConfiguration): string[] {
  return listImages(metadata).flatMap(([path, uri]) => {
    const problem = imageProblem(uri)
    return problem === undefined ? [] : [`${path}: ${problem}`]
  })
}

/** Refuses with `invalid_request` member names that resemble known ones. Wallets would ignore them. */
function refuseMisspeltNames(configuration: CredentialConfiguration): void {
  const { credential_metadata: metadata, credential_definition: definition } = configuration
  refuseMisspeltMember(definition as Json | undefined, METADATA_MEMBERS.definition, 'credential_definition')
  refuseMisspeltMember(metadata, METADATA_MEMBERS.metadata, 'credential_metadata')
  for (const [index, each] of (metadata?.display ?? []).entries()) {
    const at = `credential_metadata.display[${index}]`
    refuseMisspeltMember(each, METADATA_MEMBERS.display, at)
    refuseMisspeltMember(each.logo, METADATA_MEMBERS.logo, `${at}.logo`)
    refuseMisspeltMember(each.background_image, METADATA_MEMBERS.backgroundImage, `${at}.background_image`)
  }
  for (const [index, { display = [] }] of (metadata?.claims ?? []).entries()) {
    for (const [number, each] of display.entries()) {
      refuseMisspeltMember(
        each,
        METADATA_MEMBERS.claimDisplay,
        `credential_metadata.claims[${index}].display[${number}]`,
      )
    }
  }
}

/**
 * Refuses with `invalid_request` a path of `selective_disclosure` that is not declared but resembles a declared one.
 * Otherwise the intended claim would always be disclosed.
 */
function refuseMisspeltDisclosures({
  selective_disclosure: disclosure,
  credential_metadata: metadata,
}: CredentialConfiguration): void {
  if (!Array.isArray(disclosure)) return
  const declaredPaths = (metadata?.claims ?? []).map(({ path }) => path)
  for (const [index, path] of disclosure.entries()) {
    const nearest = nearestPath(path, declaredPaths)
    // If the similar path is listed too, this path is not a misspelling of it.
    if (nearest === undefined || disclosure.some((other) => isBelow(other, nearest))) continue
    const misspelt = pathText(path.slice(0, nearest.length))
    refuse(
      'invalid_request',
      `selective_disclosure[${index}]: ${misspelt} is unknown; did you mean ${pathText(nearest)}?`,
    )
  }
}

/** Returns `path` up to its first unknown name, with that name replaced by the most similar declared one. */
function nearestPath(path: ClaimPath, declaredPaths: readonly ClaimPath[]): ClaimPath | undefined {
  for (const [index, name] of path.entries()) {
    if (typeof name !== 'string') continue
    const before = path.slice(0, index)
    const names = declaredPaths
      .filter((each) => isBelow(each, before))
      .map((each) => each[index])
      .filter((each) => typeof each === 'string')
    if (names.includes(name)) continue
    const nearest = nearestName(name, names)
    return nearest === undefined ? undefined : [...before, nearest]
  }
  return undefined
}

/** Tests whether `path` begins with `start`. All elements of an array count as equal. */
function isBelow(path: ClaimPath, start: ClaimPath): boolean {
  return start.every((step, at) =>
    typeof step === 'string' ? step === path[at] : path[at] !== undefined && typeof path[at] !== 'string',
  )
}

/**
 * Refuses with `invalid_request` a text or a member name with control characters, and a too long `data:` URI, anywhere
 * in `value`.
 */
function refuseUnfitTexts(value: Json, path: string, name = ''): void {
  if (typeof value === 'string') {
    const text = TEXTS_FOR_PEOPLE.includes(name) ? removeDirectionMarks(value) : value
    // Descriptions may have line breaks and tabs.
    refuseControlCharacters(name === 'description' ? text.replace(/[\t\r\n]/g, '') : text, path)
    if (/^\s*data:/i.test(value)) refuseLongData(value, path)
  }
  if (typeof value !== 'object' || value === null) return
  for (const [key, member] of Object.entries(value)) {
    const memberPath = Array.isArray(value) ? `${path}[${key}]` : path === '' ? key : `${path}.${key}`
    refuseControlCharacters(key, memberPath)
    refuseUnfitTexts(member, memberPath, key)
  }
}

function refuseLongData(value: string, path: string): void {
  if (value.length <= MAX_DATA_URI) return
  refuse('invalid_request', `${path}: a data: URI has 64 KiB at most; use a smaller image, or its https: URL`)
}

/** Refuses a text that could change what a terminal shows. */
function refuseControlCharacters(text: string, path: string): void {
  if (hasControlCharacters(text))
    refuse(
      'invalid_request',
      `${path}: it has a control character, or one that changes the writing direction; leave it out`,
    )
}

/** Refuses a blank name, an invalid language tag, and two objects for the same language. */
function refuseNames(display: readonly LocalizedName[], path: string): void {
  const problem = findNameProblem(display)
  if (problem !== undefined) refuse('invalid_request', `${path}[${problem.index}].${problem.member}: ${problem.why}`)
}

/** Returns the URIs of the images by their paths. */
function listImages({ display = [] }: Metadata = {}): (readonly [path: string, uri: string])[] {
  return display.flatMap(({ logo, background_image: background }, index) => {
    const at = `credential_metadata.display[${index}]`
    const images = [[`${at}.logo.uri`, logo?.uri] as const, [`${at}.background_image.uri`, background?.uri] as const]
    return images.flatMap(([path, uri]) => (uri === undefined ? [] : [[path, uri] as const]))
  })
}

/** Refuses with `invalid_request` an image URI other than https, `data:`, or http to the local network (for tests). */
function refuseUnlessImage(uri: string, path: string): void {
  if (!isImageUri(uri)) refuse('invalid_request', `${path}: ${IMAGE_URI_RULE}`)
}

/**
 * Refuses with `invalid_request` a colour that is not in hexadecimal form, since wallets differ in the names they know.
 */
function refuseColor(color: string | undefined, path: string): void {
  if (color === undefined || /^#([0-9a-f]{3}|[0-9a-f]{6})$/i.test(color)) return
  refuse('invalid_request', `${path}: it must be a colour in hexadecimal, like #102030`)
}

/**
 * Refuses with `invalid_request` a reuse policy that conflicts with the configuration: with a larger batch than a
 * request may get, or with a trigger that cannot occur.
 */
function refuseContraryReuse({
  credential_metadata: metadata,
  batch_size: most = 1,
  validity_seconds: validity,
}: CredentialConfiguration): void {
  for (const [index, option] of (metadata?.credential_reuse_policy?.options ?? []).entries()) {
    const at = `credential_metadata.credential_reuse_policy.options[${index}]`
    const {
      details,
      batch_size: size = 1,
      reissue_trigger_unused: unused,
      reissue_trigger_lifetime_left: left,
    } = option
    if (size > most) refuse('invalid_request', `${at}.batch_size: a request gets ${most} at most (batch_size)`)
    if (details.includes('rotating-batch') && size < 2) {
      refuse('invalid_request', `${at}.batch_size: a batch that rotates has two credentials at least`)
    }
    if (unused !== undefined && unused >= size) {
      refuse('invalid_request', `${at}.reissue_trigger_unused: it must be less than batch_size`)
    }
    if (left !== undefined && left >= (validity ?? YEAR_SECONDS)) {
      refuse('invalid_request', `${at}.reissue_trigger_lifetime_left: it must be less than validity_seconds`)
    }
  }
}

/** Refuses with `invalid_request` two descriptions of the same claim. */
function refuseRepeatedClaims(claims: NonNullable<Metadata['claims']>): void {
  const paths = new Set<string>()
  for (const [index, { path }] of claims.entries()) {
    const text = JSON.stringify(path)
    if (paths.has(text))
      refuse('invalid_request', `credential_metadata.claims[${index}].path: this claim is described already`)
    paths.add(text)
  }
}
