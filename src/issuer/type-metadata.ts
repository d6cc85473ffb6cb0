/**
 * Type metadata: what a `vct` means, served at the address that the `vct` is, for types below our own base URL.
 * Credentials carry the digest of the text as it is served. SD-JWT VC, Type Metadata.
 */
import * as Type from 'typebox'
import { typeMetadataText } from '../credential/sd-jwt-vc/schema.ts'
import { createPublicDocument, type PublicDocument } from '../http/document.ts'
import { jsonResponse, refusalCodes, walletOperation } from '../http/openapi-responses.ts'
import type { CredentialConfiguration } from '../protocol/credential-configuration.ts'
import { refuse } from '../protocol/error.ts'
import type { IssuerContext } from './context.ts'

export const TYPE_METADATA_PATH = '/type-metadata'

export const typeMetadataRoute = {
  ...walletOperation,
  ...refusalCodes('not_found'),
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
 * Refuses with `invalid_request` type metadata of a type that is not below our own base URL, and other metadata of a
 * type that has some: credentials that are issued have its digest.
 */
export async function refuseForeignType(context: IssuerContext, posted: CredentialConfiguration): Promise<void> {
  if (posted.type_metadata === undefined) return
  const { vct = '' } = posted
  const prefix = `${context.config.baseUrl}${TYPE_METADATA_PATH}/`
  if (!vct.startsWith(prefix) || !NAME.test(vct.slice(prefix.length))) {
    refuse('invalid_request', `type_metadata: it is served for a vct of the form ${prefix}name alone`)
  }
  const storedText = (await loadTypeMetadata(context)).get(vct)
  if (storedText !== undefined && storedText !== typeMetadataText(posted)) {
    refuse('invalid_request', 'type_metadata: another configuration has other metadata of this vct; use another vct')
  }
}

/** Returns the type metadata of the name in our address. Refuses with `not_found`. */
export async function getTypeMetadata(context: IssuerContext, name: string): Promise<PublicDocument> {
  const texts = await context.typeMetadata.get()
  const text = texts.get(`${context.config.baseUrl}${TYPE_METADATA_PATH}/${name}`)
  return text === undefined ? refuse('not_found', 'there is no type metadata of that name') : createPublicDocument(text)
}

/** Loads the type metadata by the `vct`; also those of removed configurations, whose credentials live on. */
export async function loadTypeMetadata({ store }: Pick<IssuerContext, 'store'>): Promise<ReadonlyMap<string, string>> {
  const rows = await store.list('credential_configuration')
  return new Map(
    rows.flatMap(({ value: { configuration } }): [string, string][] => {
      const text = typeMetadataText(configuration)
      return text === undefined || configuration.vct === undefined ? [] : [[configuration.vct, text]]
    }),
  )
}
