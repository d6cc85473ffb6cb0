/**
 * A credential format: how a credential is declared, issued, presented and read. One folder per format beside this
 * file; a format knows no session and no credential type, and of the protocols the queries that are put to it.
 * `format.contract.ts` holds every format to it.
 */
import type { KeyObject } from 'node:crypto'
import type { JsonObject } from '../codec/json.ts'
import type { Problem } from '../codec/malformed.ts'
import type { ClaimPosition } from '../codec/sd-jwt.ts'
import type { Algorithm } from '../keys/algorithm.ts'
import type { PublicJwk } from '../keys/jwk.ts'
import type { Signer } from '../keys/signer.ts'
import type { ClaimPath } from '../protocol/claim-path.ts'
import type { CredentialConfiguration } from '../protocol/credential-configuration.ts'
import type { Mistakes } from '../protocol/dcql-parts.ts'

/**
 * A credential configuration that was parsed once, when it was posted or read from the database: the members that every
 * format has, and those of its own format. OpenID4VCI 1.0, Credential Issuer Metadata Parameters.
 */
export type Configuration<OwnMembers extends object = object> = OwnMembers & {
  readonly format: CredentialFormat
  /** The identifier of the format by which the configuration names it. */
  readonly formatId: string
  /** The claims that the holder may hide. */
  readonly selectiveDisclosure: 'all' | 'none' | readonly ClaimPath[]
  readonly validitySeconds: number
  /** The most credentials that one request gets, each for a key of its own. */
  readonly batchSize: number
  readonly isRevocable: boolean
  /** Whether credentials name entries of the lists of the W3C beside that of their status list token. */
  readonly hasBitstringStatus: boolean
  readonly claims: readonly ClaimDescription[]
  /**
   * The levels of which the keys must be attested, one in each list that is there; undefined where no attestation is
   * required.
   */
  readonly keyAttestation: KeyAttestationRequirement | undefined
  /** The configuration as it was posted. */
  readonly posted: CredentialConfiguration
}

export type KeyAttestationRequirement = NonNullable<CredentialConfiguration['key_attestations_required']>
export type ClaimDescription = NonNullable<
  NonNullable<CredentialConfiguration['credential_metadata']>['claims']
>[number]

/** The member of a configuration that names the type of its credentials. OpenID4VCI 1.0, Credential Format Profiles. */
export type TypeMember = 'credential_definition' | 'vct' | 'doctype'

/** All that a format needs to issue one credential. */
export interface Order<OwnMembers extends object = object> {
  readonly configuration: Configuration<OwnMembers>
  /** The members of the session's dataset that are for this format, as they were posted. */
  readonly dataset: JsonObject
  /** `issuer.id` of the configuration. */
  readonly issuer: string
  readonly holderKey: PublicJwk
  readonly issuedAt: Date
  readonly expiresAt: Date
  /** The place where the status of the credential will be published; absent for a credential without status. */
  readonly status?: OrderedStatus
}

/** The entry of a credential in a status list. */
export interface OrderedStatus {
  readonly index: number
  readonly uri: string
  /** The same entry in the lists of the W3C, where the credential is to name those too. */
  readonly bitstrings?: readonly { readonly purpose: string; readonly uri: string }[]
}

/**
 * The values of a request that the holder signs with a presentation, so that it is good for this request alone. Each
 * format signs some of them. OpenID4VP 1.0, Preventing Replay.
 */
export interface Binding {
  /** The `nonce` of the request. */
  readonly nonce: string
  /** The verifier's full client identifier. */
  readonly audience: string
  /** The address that the response is posted to. */
  readonly responseUri: string
  /** RFC 7638 thumbprint (SHA-256) of the key that the response is encrypted to; undefined when it is not encrypted. */
  readonly encryptionKeyThumbprint: Uint8Array | undefined
  /** The `transaction_data` that this presentation has to approve, each as the text of the request; mostly none. */
  readonly transactionData: readonly string[]
}

/** A presentation, taken apart and not judged: the checks in `verifier/checks` judge it. */
export interface Evidence {
  /** The formats this may be by its own type header; the query decides whether one of them was asked for. */
  readonly formats: readonly string[]
  /** The header or member that decides on `formats`, as a sentence part for people: `its type (typ) is JWT`. */
  readonly statedFormat: string
  readonly issuer: {
    /**
     * The issuer that the credential states: an entry for each member that states one, empty where the member is no
     * text, or is required and missing. No entry where the format leaves the issuer to the certificate.
     */
    readonly identifiers: readonly string[]
    /** The certificates it came with (DER), the issuer's own first. They prove nothing by themselves. */
    readonly chain: readonly Uint8Array[]
    /**
     * When the issuer signed, where the format requires that to lie in the certificate's validity: mdoc alone
     * (`signed`). The `iat` of JWTs is not read.
     */
    readonly signedAt?: Instant
    isSignedBy(key: KeyObject): boolean
  }
  /** The proof that the holder agreed to this presentation; absent when there is none. */
  readonly holder: HolderEvidence | undefined
  /** The key the issuer bound the credential to, or what is wrong with it. */
  readonly boundKey: { readonly jwk: PublicJwk; readonly thumbprint: string } | Problem
  /** The problem with the disclosures; `claims` then has only the claims that the issuer signed in the clear. */
  readonly disclosuresProblem: string | undefined
  /** The claims as a tree, rooted as DCQL paths are. */
  readonly claims: JsonObject
  /**
   * The members at the root of `claims` that describe the proof and not the subject; a report leaves them out.
   */
  readonly envelope: readonly string[]
  readonly types: readonly string[]
  /** The types that the presentation states beside those that the issuer signed; absent where it states none. */
  readonly statedTypes?: readonly string[]
  readonly validity: Validity
  /** Where the issuer publishes whether the credential still holds: the `status` of JWTs and mdocs. */
  readonly status: JsonObject | undefined
  /** The entries of `credentialStatus`, as the W3C has it beside that; absent where there are none. */
  readonly credentialStatus?: readonly JsonObject[]
}

export interface Validity {
  readonly notBefore: readonly Instant[]
  readonly notAfter: readonly Instant[]
}

/** A point in time, and the member that names it; undefined when the member is there and is not a time. */
export interface Instant {
  readonly member: string
  readonly at: Date | undefined
}

/** The holder's proof. Members for checks that the format lists in `unasked` are undefined or false. */
export interface HolderEvidence {
  /** Why this is not proof of a holder at all (its type, its algorithm), or undefined. */
  readonly problem: string | undefined
  /**
   * Tests whether `key` made the proof. `binding` is ours, for formats whose signature covers what both sides know and
   * neither sends.
   */
  isSignedBy(key: PublicJwk, binding: Binding): boolean
  readonly nonce: string | undefined
  readonly audience: string | undefined
  /**
   * When the holder made the presentation, by the proof's own word: an invalid date where a proof must say so and does
   * not, undefined where it need not and does not. When the issuer signed is `issuer.signedAt`.
   */
  readonly presentedAt: Date | undefined
  /** Limits that the holder set; most set none. */
  readonly validity: Validity
  /** Whether the proof was made for exactly these disclosures. */
  readonly coversPresentation: boolean
  /**
   * Tests whether the proof approves exactly these transactions, each the text of the request. OpenID4VP 1.0,
   * Transaction Data.
   */
  approves(transactionData: readonly string[]): boolean
}

/** A credential in a wallet, with every claim. */
export interface HeldCredential extends Evidence {
  /** The earliest end among the validity of the credential and of what signs it. */
  readonly expiresAt: Date | undefined
  /** The positions of the claims that the holder can hide, parents before children. */
  readonly hidable: readonly ClaimPosition[]
}

/** The top-level members of a dataset that a format is filled with, where several formats share the dataset. */
export type DatasetMembers = 'credentialSubject' | 'namespaces' | 'claims'

/** The ways in which key proofs name the keys that credentials of every format can be bound to. */
export const bindingMethods: readonly string[] = ['jwk', 'did:jwk', 'did:key']

/** A credential format. `OwnMembers` are the members of a configuration that only this format has. */
export interface CredentialFormat<OwnMembers extends object = object> {
  /** Every identifier this format answers to. */
  readonly ids: readonly string[]
  /** The identifier of the format in drafts of OpenID4VCI up to 14, where it was another. */
  readonly olderId?: string
  readonly typeMember: TypeMember
  /** The members beside `typeMember` that a posted configuration has for this format alone. */
  readonly ownConfigurationMembers: readonly (keyof CredentialConfiguration)[]
  /** The claim that says the type of a credential; undefined where no claim does. */
  readonly typeClaim: 'type' | 'vct' | undefined
  /** The member of `meta` that names types. OpenID4VP 1.0, Credential Format Specific Parameters and Rules. */
  readonly metaMember: 'type_values' | 'vct_values' | 'doctype_value'
  /** Names that no claim of a credential has. */
  readonly reservedNames: readonly string[]
  /** Whether a response with such a presentation is always encrypted. OpenID4VP 1.0, Handover and SessionTranscript. */
  readonly requiresEncryptedResponse: boolean
  /**
   * The kind of status list token that readers of the format take. Token Status List, Status List Token in JWT and in
   * CWT Format.
   */
  readonly statusListType: 'jwt' | 'cwt'
  /**
   * The format's entry in `vp_formats_supported`. OpenID4VP 1.0, Additional Parameters to the Authorization Request.
   */
  readonly presentationAlgorithms: JsonObject
  /** Whether HAIP 1.0 profiles the format. HAIP 1.0, Credential Format Profiles. */
  readonly isInHaip: boolean
  /** Checks (by id) that have nothing to ask of this format, and why, for the report. */
  readonly unasked: Readonly<Record<string, string>>
  /**
   * Names the algorithm of issuer signatures, as this format's metadata does. OpenID4VCI 1.0, Credential Format
   * Profiles.
   */
  signingAlgorithm(alg: Algorithm): string | number
  /** `cryptographic_binding_methods_supported`. OpenID4VCI 1.0, Credential Issuer Metadata Parameters. */
  readonly bindingMethods: readonly string[]
  /**
   * Parses the members of a configuration that only this format has. Refuses with `invalid_request`, naming the path, a
   * configuration that this format could not issue. `parseConfiguration` of configuration.ts has refused the type
   * members of other formats.
   */
  parseMembers(postedConfiguration: CredentialConfiguration): OwnMembers
  readonly datasetMembers: DatasetMembers
  /** The members of a dataset that the format takes, in words: `mso_mdoc objects with a dot in their name`. */
  readonly datasetRule: string
  /** Refuses with `invalid_request`, naming the path, a dataset that this configuration cannot be filled with. */
  checkDataset(dataset: JsonObject, configuration: Configuration<OwnMembers>): void
  /** Returns the claims of a dataset that was checked, rooted as they will be in the credential. */
  claimsOf(dataset: JsonObject): JsonObject
  /**
   * Finds the mistakes in a credential query for this format (its `meta`, its paths), in sentences that begin with the
   * path. `findQueryMistakes` of formats.ts finds those that are the same in every format.
   */
  findOwnQueryMistakes(query: JsonObject, path: string): Mistakes
  /** Makes the `meta` with which a query asks for exactly the credentials of such a configuration. */
  metaOf(configuration: JsonObject): JsonObject
  /**
   * Tests whether a credential of these types and claims is of a kind that `meta` wants. OpenID4VP 1.0, `meta` of each
   * format.
   */
  matchesMeta(credential: Pick<Evidence, 'types' | 'claims'>, meta: JsonObject): boolean
  issue(order: Order<OwnMembers>, signer: Signer, random: (bytes: number) => Uint8Array): Promise<string>
  /** Tests whether the credential reads, as a wallet reads it, as what was ordered. Throws like `hold`. */
  fulfils(order: Order<OwnMembers>, credential: string): boolean
  /** Throws a MalformedError when the credential is not of this format, or its disclosures do not fit. */
  hold(credential: string): HeldCredential
  /**
   * Makes a presentation of the credential with only what is needed to show `positions`, bound to the request by the
   * holder's key.
   */
  present(
    credential: string,
    positions: readonly ClaimPosition[],
    binding: Binding & { readonly at: Date },
    holder: Signer,
  ): Promise<string>
  /**
   * Formats the position of a claim for people, without the member around all claims; `claims` are those of the
   * credential.
   */
  positionText(position: ClaimPosition, claims: JsonObject): string
  /** Throws a MalformedError when it cannot be taken apart at all. Decides nothing else. */
  read(presentation: string): Evidence
}
