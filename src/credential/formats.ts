/** Every format there is. Adding one is a folder, a line here, and a fixture for the contract. */
import type { CredentialFormat } from './format.ts'
import { msoMdoc } from './mso-mdoc/index.ts'
import { sdJwtVc } from './sd-jwt-vc/index.ts'
import { w3cJwt } from './w3c-jwt/index.ts'
import { w3cSdJwt } from './w3c-sd-jwt/index.ts'

const formats: readonly CredentialFormat[] = [w3cSdJwt, sdJwtVc, w3cJwt, msoMdoc]

/** The identifiers that may stand in a configuration or a query today. */
export const supportedFormats: readonly string[] = formats.flatMap((format) => format.ids)

export function formatOf(id: string): CredentialFormat | undefined {
  return formats.find((format) => format.ids.includes(id))
}

/** `vp_formats_supported`: what each format says of itself, under each of its identifiers. */
export function presentationFormats(): Record<string, CredentialFormat['presentationAlgorithms']> {
  return Object.fromEntries(formats.flatMap((format) => format.ids.map((id) => [id, format.presentationAlgorithms])))
}
