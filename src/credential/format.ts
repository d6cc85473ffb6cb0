/**
 * The interface of a credential format: how its credentials are configured, issued, presented and parsed. Each format
 * has a folder beside this file. A format knows no sessions and no specific credential types. `format.contract.ts`
 * tests every format against this interface.
 */
import type { JsonObject } from '../codec/json.ts'
import type { Problem } from '../codec/malformed.ts'
import type { ClaimPosition } from '../codec/sd-jwt.ts'
import type { StatusPurpose } from '../codec/status-list.ts'
import type { PublicJwk } from '../keys/jwk.ts'
import type { Algorithm } from '../keys/signature.ts'
import type { Signer } from '../keys/signer.ts'
import type { ClaimPath } from '../protocol/claim-path-text.ts'
import type { CredentialConfiguration } from '../protocol/credential-configuration.ts'
import type { Mistakes } from '../protocol/dcql-parts.ts'
import type { IsoMdocRecipient } from '../protocol/iso-mdoc.ts'
import type { IssuerEvidence, Validity } from './evidence-parts.ts'

/**
 * A parsed credential configuration: the members of all formats, and those of its own format. OpenID4VCI 1.0,
 * Credential Issuer Metadata Parameters.
 */
export type Configuration<OwnMembers extends object = object> = OwnMembers & {
  readonly format: CredentialFormat
  /** The format identifier in the configuration. A format may have several. */
  readonly formatId: string
  /** The claims that the holder can withhold. */
  readonly selectiveDisclosure: 'all' | 'none' | readonly ClaimPath[]
  readonly validitySeconds: number
  /** The maximum number of credentials for one request, each for a different key. */
  readonly batchSize: number
  readonly isRevocable: boolean
  /** Whether credentials also refer to W3C bitstring status lists. */
  readonly hasBitstringStatus: boolean
  readonly claims: readonly ClaimDescription[]
  /**
   * The required levels of key attestations: one of each list that is present. Undefined if no attestation is required.
   */
  readonly keyAttestation: KeyAttestationRequirement | undefined
  /** The configuration as it was posted. */
  readonly posted: CredentialConfiguration
}

export type KeyAttestationRequirement = NonNullable<CredentialConfiguration['key_attestations_required']>
export type ClaimDescription = NonNullable<
  NonNullable<CredentialConfiguration['credential_metadata']>['claims']
>[number]

/** The member of a configuration that has the type of its credentials. OpenID4VCI 1.0, Credential Format Profiles. */
export type TypeMember = 'credential_definition' | 'vct' | 'doctype'

/** Everything that a format needs to issue one credential. */
export interface Order<OwnMembers extends object = object> {
  readonly configuration: Configuration<OwnMembers>
  /** The members of the session's dataset for this format, as they were posted. */
  readonly dataset: JsonObject
  /** The issuer identifier (`issuer.id` of the settings). */
  readonly issuer: string
  readonly holderKey: PublicJwk
  /** The DIDs by which the wallet named its keys, by the thumbprint of the key. */
  readonly holderDids?: Readonly<Record<string, string>>
  readonly issuedAt: Date
  readonly expiresAt: Date
  /** The status list entry of the credential; absent for a credential without status. */
  readonly status?: StatusListEntry
}

/** The entry of a credential in a status list. */
export interface StatusListEntry {
  readonly index: number
  readonly uri: string
  /** The same entry in W3C bitstring status lists, if the credential refers to them too. */
  readonly bitstrings?: readonly { readonly purpose: StatusPurpose; readonly uri: string }[]
}

/**
 * The values of a request that bind a presentation to it. Each format signs some of them. OpenID4VP 1.0, Preventing
 * Replay.
 */
export interface Binding {
  /** The `nonce` of the request. */
  readonly nonce: string
  /** The full client identifier of the verifier, or `origin:` and the origin for a response through the browser. */
  readonly audience: string
  /** Where the response goes: to a URL, or to the page of an origin, which asked the browser. */
  readonly recipient: { readonly responseUri: string } | { readonly origin: string } | IsoMdocRecipient
  /** The JWK thumbprint (RFC 7638, SHA-256) of the response encryption key; undefined for an unencrypted response. */
  readonly encryptionKeyThumbprint: Uint8Array | undefined
  /** The entries of `transaction_data` that this presentation must approve, as in the request; usually empty. */
  readonly transactionData: readonly string[]
}

/**
 * A parsed presentation. No signature, time or trust in it is verified: the checks in `verifier/checks` do that. The
 * digests of its disclosures and elements are, since the claims cannot be read without: `disclosuresProblem`.
 */
export interface Evidence {
  /**
   * Why it is not of this format, as part of a sentence: `its type (typ) is JWT`; undefined if its type header and its
   * members are those of the format.
   */
  readonly formatProblem: string | undefined
  readonly issuer: IssuerEvidence
  /** The holder's proof; undefined if there is none. */
  readonly holder: HolderEvidence | undefined
  /** The key that the issuer bound the credential to, or why there is none. */
  readonly boundKey: { readonly jwk: PublicJwk; readonly thumbprint: string } | Problem
  /**
   * The problem of the disclosures, or of the elements of an mdoc: they are malformed, or not those whose digests the
   * issuer signed. If there is one, `claims` has only the claims that are not selectively disclosable.
   */
  readonly disclosuresProblem: string | undefined
  /** The claims as a JSON object, in which DCQL paths begin. */
  readonly claims: JsonObject
  /** Makes the claims with holes in the places of hidden elements; absent if the format hides no elements. */
  readonly readClaimsInPlace?: () => JsonObject
  /**
   * The top-level members of `claims` that secure the credential and do not describe the subject. Reports leave them
   * out.
   */
  readonly securingMembers: readonly string[]
  readonly types: readonly string[]
  /** The types that the presentation names outside of what the issuer signed; absent if it names none. */
  readonly statedTypes?: readonly string[]
  readonly validity: Validity
  /** The `status` of a JWT or mdoc, which refers to a status list. */
  readonly status: JsonObject | undefined
  /** The entries of the W3C member `credentialStatus`; absent if there are none. */
  readonly credentialStatus?: readonly JsonObject[]
}

/** The holder's proof. Members for checks in `notApplicableReasons` of the format are undefined or false. */
export interface HolderEvidence {
  /** Why the proof has the wrong type or algorithm; undefined if it has not. */
  readonly problem: string | undefined
  /**
   * Returns why `key` did not sign the proof, as part of a sentence; undefined if it did. `binding` has the verifier's
   * values, for formats that sign values which are not in the presentation.
   */
  signatureProblem(key: PublicJwk, binding: Binding): string | undefined
  readonly nonce: string | undefined
  readonly audience: string | undefined
  /**
   * When the holder made the presentation, according to the proof: undefined if it is absent and optional, and an
   * invalid date if it is absent and required. `issuer.signedAt` is the time of the issuer.
   */
  readonly presentedAt: Date | undefined
  /** The validity that the holder set; usually empty. */
  readonly validity: Validity
  /** Whether the proof covers exactly these disclosures. */
  readonly coversPresentation: boolean
  /**
   * Returns why the proof does not approve these entries of `transaction_data`, and beside them none but those of
   * `requestTransactionData`, all entries of the request; undefined if it does. OpenID4VP 1.0, Transaction Data.
   */
  approvalProblem(transactionData: readonly string[], requestTransactionData: readonly string[]): string | undefined
}

/** A credential in a wallet, with all its claims. */
export interface HeldCredential extends Evidence {
  /** The earliest end of the validity of the credential and of its signing key. */
  readonly expiresAt: Date | undefined
  /** The positions of the claims that the holder can withhold; parents come before children. */
  readonly disclosable: readonly ClaimPosition[]
}

/** The top-level members of a dataset that a format uses, if several formats share the dataset. */
export type DatasetMembers = 'credentialSubject' | 'namespaces' | 'claims'

/** Where a claim of a credential comes from: the dataset of the application, or the issuer itself. */
export type ClaimSource = 'dataset' | 'issuer'

/** The binding methods that all formats support. */
export const bindingMethods: readonly string[] = ['jwk', 'did:jwk', 'did:key']

/** A credential format. `OwnMembers` are the members that its parsed configurations have beyond the common ones. */
export interface CredentialFormat<OwnMembers extends object = object> {
  // How a configuration names the format.
  /** All identifiers of the format. */
  readonly ids: readonly [string, ...string[]]
  /** The identifier in OpenID4VCI drafts up to 14, if it was different. */
  readonly olderId?: string
  readonly typeMember: TypeMember
  /** The members besides `typeMember` that only posted configurations of this format may have. */
  readonly ownConfigurationMembers: readonly (keyof CredentialConfiguration)[]
  /**
   * Parses the members that only this format has. Refuses with `invalid_request` and the path a configuration that this
   * format cannot issue. `parseConfiguration` refuses members of other formats before.
   */
  parseMembers(postedConfiguration: CredentialConfiguration): OwnMembers

  // How a dataset fills a credential.
  readonly datasetMembers: DatasetMembers
  /** The words in which a message says what of a dataset the format takes: `W3C formats take credentialSubject`. */
  readonly datasetRule: string
  /** Returns where credentials of a configuration have a claim from; undefined if they never have it. */
  sourceOf(path: ClaimPath, configuration: Configuration<OwnMembers>): ClaimSource | undefined
  /** Refuses with `invalid_request` and the path a dataset that this configuration cannot be issued with. */
  refuseInvalidDataset(dataset: JsonObject, configuration: Configuration<OwnMembers>): void
  /** Returns the claims of a valid dataset, as they will be in the credential. */
  claimsOf(dataset: JsonObject): JsonObject

  // How queries ask for a credential.
  /** The member of `meta` that has the types. OpenID4VP 1.0, Credential Format Specific Parameters and Rules. */
  readonly metaMember: 'type_values' | 'vct_values' | 'doctype_value'
  /** The claim that has the type of a credential; undefined if there is none. */
  readonly typeClaim: 'type' | 'vct' | undefined
  /** Names that a claim cannot have. */
  readonly reservedNames: readonly string[]
  /**
   * Returns the format-specific mistakes in a credential query (in `meta` and paths), as sentences that begin with the
   * path. `findQueryMistakes` finds the common ones.
   */
  findOwnQueryMistakes(query: JsonObject, path: string): Mistakes
  /** Makes the `meta` that requests exactly the credentials of a configuration. */
  metaOf(configuration: JsonObject): JsonObject
  /** Tests whether a credential with these types and claims matches `meta`. OpenID4VP 1.0, `meta` of each format. */
  matchesMeta(credential: Pick<Evidence, 'types' | 'claims'>, meta: JsonObject): boolean

  // The credential itself.
  issue(order: Order<OwnMembers>, signer: Signer, random: (bytes: number) => Uint8Array): Promise<string>
  /** Tests whether an issued credential, parsed as a wallet does, matches its order. Throws like `readHeld`. */
  matchesOrder(order: Order<OwnMembers>, credential: string): boolean
  /** Parses a credential for its holder. Throws a MalformedError for another format, or an invalid disclosure. */
  readHeld(credential: string): HeldCredential
  /**
   * Makes a presentation that discloses only `positions` and what they require, signed with the holder's key for
   * `binding`.
   */
  present(
    credential: string,
    positions: readonly ClaimPosition[],
    binding: Binding & { readonly at: Date },
    holder: Signer,
  ): Promise<string>
  /** Parses a presentation, and verifies its digests alone. Throws a MalformedError if it cannot be parsed. */
  read(presentation: string): Evidence

  // How metadata and protocols treat the format.
  /**
   * Returns the identifier of the algorithm of issuer signatures in the format's metadata. OpenID4VCI 1.0, Credential
   * Format Profiles.
   */
  signingAlgorithm(alg: Algorithm): string | number
  /** `cryptographic_binding_methods_supported`. OpenID4VCI 1.0, Credential Issuer Metadata Parameters. */
  readonly bindingMethods: readonly string[]
  /**
   * The format's value in `vp_formats_supported`. OpenID4VP 1.0, Additional Parameters to the Authorization Request.
   */
  readonly presentationAlgorithms: JsonObject
  /** Whether the response must be encrypted. OpenID4VP 1.0, Handover and SessionTranscript. */
  readonly requiresEncryptedResponse: boolean
  /** The preferred form of status list tokens. Token Status List, Status List Token in JWT and in CWT Format. */
  readonly statusListType: 'jwt' | 'cwt'
  /** Whether HAIP 1.0 allows the format. HAIP 1.0, Credential Format Profiles. */
  readonly isInHaip: boolean
  /** Whether the holder's signature covers the nonce, the client identifier and the response address themselves. */
  readonly signatureCoversRequest: boolean
  /** Why a presentation of this format cannot approve transactions, for the report; undefined if it can. */
  readonly transactionProblem?: string
  /** The ids of checks that do not apply to this format, each with the reason for the report. */
  readonly notApplicableReasons: Readonly<Record<string, string>>

  // How people read the claims.
  /** The members of its claims that the issuer writes about the credential itself, beside `securingMembers`. */
  readonly descriptiveMembers: readonly string[]
  /**
   * Formats the position of a claim for people, without the member around all claims. `claims` are all claims of the
   * credential.
   */
  positionText(position: ClaimPosition, claims: JsonObject): string
}
