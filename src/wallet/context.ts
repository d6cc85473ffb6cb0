/** The access of the wallet to the world outside, which the caller provides. */
import type { JsonObject } from '../codec/json.ts'
import type { Algorithm } from '../keys/algorithm.ts'
import type { PublicJwk } from '../keys/jwk.ts'
import type { Signer } from '../keys/signer.ts'

/** The tolerance for the clocks of issuers and verifiers. */
export const CLOCK_SKEW_SECONDS = 60

export interface WalletContext {
  readonly fetch: typeof globalThis.fetch
  readonly now: () => Date
  readonly random: (bytes: number) => Uint8Array
  readonly store: WalletStore
  /** The client id for authorization servers that accept no anonymous clients; not sent when absent. */
  readonly clientId?: string
  /** The attestation of the provider of this wallet, for issuers that authenticate wallets. */
  readonly attestation?: WalletAttestation
  /** The attester of keys, for credentials whose keys have to be attested; a wallet without it gets none. */
  readonly attestKeys?: KeyAttester
  /** Opens a way back from a browser; a wallet without it does no authorization code flow. */
  readonly openBrowser?: () => Promise<BrowserVisit>
  /** Resolves after `seconds`; a wallet without it never waits for a deferred credential. */
  readonly wait?: (seconds: number) => Promise<void>
  /** Hears of each step, for people who watch. A step has no token, key or value of a claim. */
  readonly onStep?: (step: Step) => void
  /** The limits of one response; ten seconds and one megabyte when absent. */
  readonly limits?: { readonly seconds: number; readonly bytes: number }
}

/** The way of a browser to an authorization server and back. */
export interface BrowserVisit {
  /** The address that the browser comes back to; nobody else's. */
  readonly redirectUri: string
  /**
   * Sends the person to the address, and resolves with the query of the one request to the redirect URI. Rejects with a
   * WalletError `not_yet` when nobody comes in time.
   */
  sendPerson(address: string): Promise<string>
  /** Closes the way back, whether or not somebody came. */
  close(): Promise<void>
}

export interface WalletAttestation {
  /** The JWT, as the provider signed it. */
  readonly jwt: string
  /** The signer with the attested key. */
  readonly key: Signer
}

/**
 * Gives the key attestation of the keys, in their order, with the nonce of the issuer. OpenID4VCI 1.0, Key Attestation
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
  /** The reason or meaning of the action, in a sentence. */
  readonly means: string
  /** The specification of the action. */
  readonly spec: string
  /** The request; absent when nothing was sent. */
  readonly request?: { readonly method: string; readonly url: string; readonly sent?: string }
  /** The HTTP status of the response. */
  readonly status?: number
}

/**
 * Texts by name. A write replaces the whole text or nothing, and keeps it unreadable for other users, as the texts may
 * have private keys.
 */
export interface TextStore {
  list(): Promise<readonly string[]>
  read(name: string): Promise<string>
  write(name: string, text: string): Promise<void>
  /** Does nothing where there is no such text. */
  remove(name: string): Promise<void>
}

/** The credentials of the wallet as texts, and their keys. */
export interface WalletStore extends TextStore {
  readonly keys: HolderKeys
  /** The authorizations to ask again; a wallet without this store renews nothing and keeps no open transaction. */
  readonly authorizations?: TextStore
}

/**
 * The keys to which credentials are bound: a new one for each credential, so that keys do not link the credentials of a
 * person. RFC 9901, Unlinkability.
 */
export interface HolderKeys {
  make(algorithm: Algorithm): Promise<HolderKey>
  /** Opens the key that `keyRecord` stands for. Rejects with a MalformedError when there is none. */
  open(keyRecord: JsonObject): Promise<Signer>
}

export interface HolderKey {
  readonly signer: Signer
  /** The member `holder_key` of the credential: the private key itself, or the name of one that stays elsewhere. */
  readonly keyRecord: JsonObject
}
