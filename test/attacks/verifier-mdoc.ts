/** The tables of attacks with mobile documents. */
import type { MdocForgery } from '../support/mdoc.ts'
import type { Attack } from './attack.ts'
import { mdocDocumentAttacks } from './verifier-mdoc-document.ts'
import { mdocHolderAttacks } from './verifier-mdoc-holder.ts'
import { mdocIssuerAttacks } from './verifier-mdoc-issuer.ts'
import { mdocResponseAttacks } from './verifier-mdoc-response.ts'

export const mdocTables: Readonly<Record<string, readonly Attack<MdocForgery>[]>> = {
  'the issuer': mdocIssuerAttacks,
  'the device': mdocHolderAttacks,
  'the document': mdocDocumentAttacks,
  'the response': mdocResponseAttacks,
}

export const mdocAttacks: readonly Attack<MdocForgery>[] = Object.values(mdocTables).flat()
