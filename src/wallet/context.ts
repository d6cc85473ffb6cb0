/** The access of the wallet to everything outside, which the caller provides. */
import type { JsonObject } from '../codec/json.ts'
import type { PublicJwk } from '../keys/jwk.ts'
import type { Algorithm } from '../keys/signature.ts'
import type { Signer } from '../keys/signer.ts'

/** The tolerated clock difference to issuers and verifiers. */
export const CLOCK_SKEW_SECONDS = 60

export interface WalletContext {
  readonly fetch: typeof globalThis.fetch
  readonly now: () => Date
  readonly random: (bytes: number) => Uint8Array
  readonly store: WalletStore
  /** The client id for authorization servers that require one; not sent when absent. */
  readonly clientId?: string
  /** The attestation by the wallet provider, for issuers that require one. */
  readonly attestation?: WalletAttestation
  /** Attests keys, for credentials that require key attestations. Without it, the wallet cannot receive these. */
  readonly attestKeys?: KeyAttester
  /** Opens a browser for the authorization code flow. Without it, the wallet does not support that flow. */
  readonly openBrowser?: () => Promise<BrowserVisit>
  /** Resolves after `seconds`. Without it, the wallet does not wait for deferred credentials. */
  readonly wait?: (seconds: number) => Promise<void>
  /** Called for each step, for demonstrations. A step has no tokens, keys or claim values. */
  readonly onStep?: (step: Step) => void
  /** The limits of a response; ten seconds and one megabyte when absent. */
  readonly limits?: { readonly seconds: number; readonly bytes: number }
  /** The languages of the holder, the most wanted first, for the names of issuers, credentials and claims. */
  readonly languages?: readonly string[]
}

/** A visit of the browser to an authorization server. */
export interface BrowserVisit {
  /** The redirect URI, which belongs to this visit only. */
  readonly redirectUri: string
  /**
   * Opens the URL in the browser, and resolves with the query of the request to the redirect URI. Rejects with a
   * WalletError `not_yet` after a time limit.
   */
  sendPerson(address: string): Promise<string>
  /** Stops waiting for the redirect. */
  close(): Promise<void>
}

export interface WalletAttestation {
  /** The attestation JWT of the provider. */
  readonly jwt: string
  /** The signer with the attested key. */
  readonly key: Signer
}

/**
 * Returns a key attestation for the keys, in their order, with the nonce of the issuer. OpenID4VCI 1.0, Key Attestation
 * in JWT format.
 */
export type KeyAttester = (keys: readonly PublicJwk[], requirement: AttestationRequirement) => Promise<string>

export interface AttestationRequirement {
  readonly nonce: string | undefined
  /** The member `key_attestations_required` of the metadata. */
  readonly requirements: JsonObject
}

export interface Step {
  /** The action of the wallet, in words that follow "the wallet": `fetched the credential offer`. */
  readonly what: string
  /** The purpose of the step, as a sentence. */
  readonly means: string
  /** The specification of the step. */
  readonly spec: string
  /** The request; absent if nothing was sent. */
  readonly request?: { readonly method: string; readonly url: string; readonly sent?: string }
  /** The HTTP status of the response. */
  readonly status?: number
}

/**
 * Stores texts by name. A write is atomic. Texts must not be readable by other users, since they may have private keys.
 */
export interface TextStore {
  list(): Promise<readonly string[]>
  read(name: string): Promise<string>
  write(name: string, text: string): Promise<void>
  /** Removes a text, if it exists. */
  remove(name: string): Promise<void>
}

/** The store of credentials, with their keys. */
export interface WalletStore extends TextStore {
  readonly keys: HolderKeys
  /** The stored authorizations. Without it, the wallet cannot renew credentials or keep pending transactions. */
  readonly authorizations?: TextStore
}

/** The holder keys. Each credential has its own, so that keys do not link credentials. RFC 9901, Unlinkability. */
export interface HolderKeys {
  make(algorithm: Algorithm): Promise<HolderKey>
  /** Opens the key for a stored record. Rejects with a MalformedError if the record is invalid. */
  open(keyRecord: JsonObject): Promise<Signer>
}

export interface HolderKey {
  readonly signer: Signer
  /** The member `holder_key` of a stored credential: the private key itself, or a reference to it. */
  readonly keyRecord: JsonObject
}
