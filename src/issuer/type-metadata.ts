/**
 * SD-JWT VC type metadata, served at the URL that is the `vct`, for types below the issuer's base URL. Credentials have
 * the digest of the served text. SD-JWT VC, Type Metadata.
 */
import * as Type from 'typebox'
import type { Configuration } from '../credential/format.ts'
import { refuseContraryTypeClaims } from '../credential/sd-jwt-vc/type-claims.ts'
import { writeTypeMetadata } from '../credential/sd-jwt-vc/validation.ts'
import { createPublicDocument, type PublicDocument } from '../http/document.ts'
import { jsonResponse, refusalCodes, sentHeaders, walletOperation } from '../http/openapi-responses.ts'
import { refuse } from '../protocol/error.ts'
import type { IssuerContext } from './context.ts'

export const TYPE_METADATA_PATH = '/type-metadata'

export const typeMetadataRoute = {
  ...walletOperation,
  ...refusalCodes('not_found'),
  ...sentHeaders('ETag'),
  operationId: 'getTypeMetadata',
  summary: 'The type metadata of a vct of this issuer',
  params: Type.Object({ name: Type.String() }),
  response: jsonResponse(
    200,
    Type.Object({ vct: Type.String() }, { additionalProperties: true, title: 'TypeMetadata' }),
  ),
}

const NAME = /^[A-Za-z0-9._~-]{1,128}$/

/**
 * Refuses with `invalid_request` type metadata for a `vct` that is not below the base URL, a description of claims that
 * the credentials contradict, and a change of existing type metadata, whose digest issued credentials have.
 */
export async function refuseUnfitType(context: IssuerContext, configuration: Configuration): Promise<void> {
  const { posted } = configuration
  if (posted.type_metadata === undefined) return
  const { vct = '' } = posted
  const prefix = `${context.config.baseUrl}${TYPE_METADATA_PATH}/`
  if (!vct.startsWith(prefix) || !NAME.test(vct.slice(prefix.length))) {
    const hint = `set vct to ${prefix}NAME, under which this issuer serves it, or leave type_metadata out`
    refuse('invalid_request', `type_metadata: ${hint}`)
  }
  refuseContraryTypeClaims(configuration)
  const storedText = (await loadTypeMetadata(context)).get(vct)
  if (storedText !== undefined && storedText !== writeTypeMetadata(posted)) {
    refuse('invalid_request', 'type_metadata: another configuration has other metadata of this vct; use another vct')
  }
}

/** Returns the type metadata with this name. Refuses with `not_found`. */
export async function getTypeMetadata(context: IssuerContext, name: string): Promise<PublicDocument> {
  const texts = await context.typeMetadata.get()
  const text = texts.get(`${context.config.baseUrl}${TYPE_METADATA_PATH}/${name}`)
  return text === undefined ? refuse('not_found', 'there is no type metadata of that name') : createPublicDocument(text)
}

/** Loads all type metadata, by `vct`; also of removed configurations, whose credentials may still be valid. */
export async function loadTypeMetadata({ store }: Pick<IssuerContext, 'store'>): Promise<ReadonlyMap<string, string>> {
  const rows = await store.list('credential_configuration')
  return new Map(
    rows.flatMap(({ value: { configuration } }): [string, string][] => {
      const text = writeTypeMetadata(configuration)
      return text === undefined || configuration.vct === undefined ? [] : [[configuration.vct, text]]
    }),
  )
}
