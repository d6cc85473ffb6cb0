/**
 * The setting `trustLists` of the verifier: lists of trusted entities (LoTE), whose certificates are trust anchors.
 * `verifier/trust-list/` fetches and reads them. ETSI TS 119 602.
 */
import type { Static } from 'typebox'
import * as Type from 'typebox'
import { MAX_URL } from '../codec/url.ts'
import type { TrustAnchor } from '../keys/trust-path.ts'
import { ownAddressProblem } from './address.ts'
import { readCertificateDirectory } from './anchor-directory.ts'
import type { Files } from './files.ts'
import { mistakesOf } from './mistakes.ts'

const LOTE_TYPE = 'http://uri.etsi.org/19602/LoTEType/'
/** The types of lists that have no issuers of credentials: whoever is there must not become one. */
const LISTS_WITHOUT_ISSUERS = /^EU(WalletProviders|WRPACProviders|WRPRCProviders|RegistrarsAndRegisters)List$/
const MAX_LISTS = 100

export const TrustListsSetting = Type.Array(
  Type.Object(
    {
      url: Type.String({
        maxLength: MAX_URL,
        description: 'Address of the list, as JSON with a JAdES compact signature',
      }),
      loteType: Type.String({
        description: `The type that the list has to state (LoTEType), like ${LOTE_TYPE}EUPIDProvidersList`,
      }),
      signerTrustAnchors: Type.String({
        description: 'Directory of PEM files; the list must be signed by one of these certificates, or below one',
      }),
      credentialTypes: Type.Optional(
        Type.Array(Type.String({ minLength: 1 }), {
          minItems: 1,
          description:
            'The types (vct, doctype, type) of which the issuers in the list are trusted; all types when absent',
        }),
      ),
    },
    { additionalProperties: false },
  ),
  {
    maxItems: MAX_LISTS,
    description:
      'Lists of trusted entities (ETSI TS 119 602), each with `url`, `loteType`, `signerTrustAnchors` and perhaps `credentialTypes`; their issuers are trusted beside issuerTrustAnchors',
  },
)

type TrustListSetting = Static<typeof TrustListsSetting>[number]

export interface TrustListConfig {
  readonly url: string
  readonly loteType: string
  /** The certificates that may sign the list, or certify who does. */
  readonly signerAnchors: readonly TrustAnchor[]
  /** The credential types of which the issuers in the list are trusted; undefined for all types. */
  readonly credentialTypes: readonly string[] | undefined
}

/** Reads the setting, and the directories that it names. */
export function readTrustLists(
  settings: readonly TrustListSetting[] | undefined,
  files: Pick<Files, 'read' | 'list'>,
  now: Date,
):
  | { readonly trustLists: readonly TrustListConfig[]; readonly warnings: readonly string[] }
  | { readonly mistakes: readonly string[] } {
  const results = (settings ?? []).map((setting, index) => {
    const isRepeated = settings?.findIndex(({ url }) => url === setting.url) !== index
    const mistakes = isRepeated ? ['url: it is there twice; each list has one entry'] : findListMistakes(setting)
    const settingPath = `trustLists[${index}].signerTrustAnchors`
    const signers = readCertificateDirectory({ settingPath }, setting.signerTrustAnchors, files, now)
    const allMistakes = [...mistakes.map((mistake) => `trustLists[${index}].${mistake}`), ...mistakesOf(signers)]
    return 'mistakes' in signers || allMistakes.length > 0 ? { mistakes: allMistakes } : { setting, signers }
  })
  const mistakes = mistakesOf(...results)
  if (mistakes.length > 0) return { mistakes }
  const lists = results.flatMap((result) => ('mistakes' in result ? [] : result))
  return {
    trustLists: lists.map(({ setting: { url, loteType, credentialTypes }, signers }) => {
      return { url, loteType, credentialTypes, signerAnchors: signers.certificates }
    }),
    warnings: lists.flatMap(({ signers }) => signers.warnings),
  }
}

/** Returns the mistakes of one list apart from its directory. */
function findListMistakes({ url, loteType }: TrustListSetting): string[] {
  const problem = ownAddressProblem(url, 'https://lists.example.eu/pid-providers.jwt', 'an address without')
  const isOfOthers = loteType.startsWith(LOTE_TYPE) && LISTS_WITHOUT_ISSUERS.test(loteType.slice(LOTE_TYPE.length))
  return [
    ...(problem === undefined ? [] : [`url: ${problem}`]),
    ...(isOfOthers ? ['loteType: a list of this type has no issuers of credentials'] : []),
  ]
}
