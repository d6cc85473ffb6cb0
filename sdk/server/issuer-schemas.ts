/** The schemas of an issuer. Generated from its OpenAPI document by `npm run docs`; do not edit. */
export interface IssuerSchemas {
  /** The last signature of the service over its log; in the first page. */
  AuditCheckpoint: {
    /** The checkpoint, a compact JWS: keep a copy elsewhere. */
    signature: string
    /** The last record that it signs. */
    sequence?: number
    /** ISO 8601. */
    at?: string
    /** Why the signature cannot be verified. */
    problem?: string
  }
  /** Where the log stands; in the first page. */
  AuditHead: {
    log: string
    sequence: number
    hash: string
  }
  AuditRecord: {
    sequence: number
    /** ISO 8601. */
    at: string
    type: string
    /** How a verification without a session ended (presentation.verified). */
    outcome?: 'succeeded' | 'failed'
    /** The label of the API key of the caller. */
    caller?: string
    /** The id of what the record is about. */
    subject?: string
    /** The SHA-256 of the session id, base64url. */
    session?: string
    /** The hash of this record and of that of the record before. */
    hash: string
  }
  AuditRecordPage: {
    records: IssuerSchemas['AuditRecord'][]
    /** Blocks of the log among these records that cannot be read: look for a backup that has them. */
    damaged_blocks?: number[]
    /**
     * The cursor of the following page; absent when there is none. With a filter a page may have few entries, or none,
     * and a next all the same.
     */
    next?: string
    head?: IssuerSchemas['AuditHead']
    checkpoint?: IssuerSchemas['AuditCheckpoint']
  }
  AuditVerification: {
    /** Whether nothing is wrong in this stretch, and something was verified. */
    intact: boolean
    problems: string[]
    /** The record that the stretch continues from. */
    after: number
    /** The last record of the stretch. */
    up_to: number
    /** The last record of the log. */
    head: number
    /** The last record that a signature in the stretch covers; 0 without one. */
    vouched_for: number
    /** How many signatures are in the stretch. */
    checkpoints: number
    /**
     * The cursor of the following page; absent when there is none. With a filter a page may have few entries, or none,
     * and a next all the same.
     */
    next?: string
  }
  CallbackCounts: {
    configured: boolean
    /** Sessions with events that wait for their delivery, up to 1000. */
    waiting: number
    /** Seconds since the epoch. */
    oldest_waiting_at?: number
    /** Why a delivery failed. */
    last_problem?: string
    /** Events that were given up after a day, up to 1000. */
    dead: number
  }
  ChangedCredentialStatus: {
    session_id: string
    credential_status: 'VALID' | 'SUSPENDED' | 'REVOKED'
  }
  ClaimDescription: {
    path: (string | number | null)[]
    mandatory?: boolean
    display?: {
      name: string
      locale?: string
    }[]
  }
  CompletedInteraction: {
    /** The issuance session; absent where it was denied. */
    session_id?: string
    /** Send the browser there, within five minutes. */
    redirect_uri: string
  }
  Completion: {
    credential_dataset?: IssuerSchemas['CredentialDataset']
    /** There will be no credential. */
    denied?: true
    /** For the wallet, why it was denied. */
    reason?: string
  }
  CredentialConfiguration: {
    /** jwt_vc_json-ld, vc+sd-jwt, dc+sd-jwt, jwt_vc_json or mso_mdoc. */
    format: string
    credential_definition?: IssuerSchemas['CredentialDefinition']
    /** For dc+sd-jwt: the type. */
    vct?: string
    /** For dc+sd-jwt: other types that the credential is of as well, such as the general one of a national type. */
    aka_vcts?: string[]
    /**
     * For dc+sd-jwt: the type metadata that is served at the vct, which has to be {baseUrl}/type-metadata/{name};
     * credentials have its digest (vct#integrity).
     */
    type_metadata?: Record<string, unknown>
    /** For mso_mdoc: the type. */
    doctype?: string
    credential_metadata?: {
      display?: IssuerSchemas['CredentialDisplay'][]
      claims?: IssuerSchemas['ClaimDescription'][]
      credential_reuse_policy?: IssuerSchemas['CredentialReusePolicy']
    }
    scope?: string
    /** The claims that the holder may hide: all (the default), none, or those at the given paths. */
    selective_disclosure?: 'all' | 'none' | (string | number | null)[][]
    /** Seconds for which a credential is valid; one year when absent. */
    validity_seconds?: number
    /** Wallets must attest their keys; of each list that is there, one level has to fit. */
    key_attestations_required?: {
      key_storage?: string[]
      user_authentication?: string[]
    }
    /** How many credentials a request may have, each for a key of its own; one when absent. */
    batch_size?: number
    /** Whether credentials have an entry in a status list; they have when absent. */
    revocable?: boolean
    /** For jwt_vc_json: credentialSubject.id is the DID of the holder's key. */
    subject?: 'holder'
    /** For W3C formats: credentialStatus, with entries in Bitstring Status Lists, beside status. */
    status?: 'bitstring'
  }
  /** The claims of the credentials of a session. */
  CredentialDataset: {
    credentialSubject?: Record<string, unknown>
    [name: string]: unknown
  }
  /** OpenID4VCI 1.0, W3C Verifiable Credentials. */
  CredentialDefinition: {
    '@context'?: (string | Record<string, unknown>)[]
    type: string[]
    [name: string]: unknown
  }
  CredentialDisplay: {
    name: string
    locale?: string
    description?: string
    background_color?: string
    text_color?: string
    logo?: {
      uri: string
      alt_text?: string
    }
    background_image?: {
      uri: string
    }
  }
  /** ETSI TS 119 472-3: how often the wallet may present a credential, and when it asks for new ones. */
  CredentialReusePolicy: {
    id: 'arf_annex_ii'
    options: IssuerSchemas['CredentialReusePolicyOption'][]
  }
  CredentialReusePolicyOption: {
    details: ('once_only' | 'limited_time' | 'rotating-batch' | 'per-relying-party')[]
    batch_size?: number
    /** The wallet asks anew when so many are unused. */
    reissue_trigger_unused?: number
    /** The wallet asks anew so many seconds before the end. */
    reissue_trigger_lifetime_left?: number
  }
  DeadCallback: {
    /** The id of the event, which the receiver gets as webhook-id. */
    callback_id: string
    session_id: string
    /** The type of the event; docs/callbacks.md. */
    type: string
    /** Seconds since the epoch. */
    occurred_at: number
    /** Why the last delivery failed. */
    problem: string
    /** The time when the event was given up. */
    died_at: number
    /** The time when the event is deleted. */
    deleted_at: number
  }
  DeadCallbackPage: {
    callbacks: IssuerSchemas['DeadCallback'][]
    /**
     * The cursor of the following page; absent when there is none. With a filter a page may have few entries, or none,
     * and a next all the same.
     */
    next?: string
  }
  Interaction: {
    interaction_id: string
    /** The name that the wallet gives itself; nobody has verified it. */
    client_id: string
    /** Where the browser goes in the end. */
    redirect_uri: string
    /** The configurations that the wallet asks for. */
    credential_configurations: string[]
    /** The session of the offer; absent where there is no offer. */
    session_id?: string
    /**
     * Whether nobody has given the dataset yet. The dataset is for all credentials of the offer, where there is one.
     */
    needs_dataset: boolean
    /** Seconds since the epoch. */
    expires_at: number
  }
  InteractionCompletion: {
    credential_dataset?: IssuerSchemas['CredentialDataset']
    /** The session of the offer has the dataset, or gets it later. */
    approved?: true
    /** There is no offer, and the dataset comes later; wallets wait. */
    deferred?: true
    /** There will be no credential. */
    denied?: true
    /** For the wallet, why it was denied. */
    reason?: string
    /** How long the wallet may refresh, as for a new session; where there is no offer. */
    refresh_seconds?: number
  }
  IssuanceSession: {
    session_id: string
    status: 'STARTED' | 'SUCCEEDED' | 'EXPIRED'
    /** Seconds since the epoch. */
    created_at: number
    /** Seconds since the epoch. */
    expires_at: number
    /** Seconds since the epoch. */
    refresh_until?: number
    /** Seconds since the epoch. */
    erased_at?: number
    /** Seconds since the epoch. */
    offer_fetched_at?: number
    /** The last refusal of a wallet. */
    problem?: {
      /** Such as credential-offer, token, credential, deferred-credential. */
      endpoint: string
      error: string
      error_description: string
      /** How many refusals up to this one had its endpoint and its error, with no other refusal between them. */
      count: number
      /** Seconds since the epoch. */
      at: number
    }
    /** The refusals before it that had another endpoint or error, oldest first; the newest nine at most. */
    earlier_problems?: {
      /** Such as credential-offer, token, credential, deferred-credential. */
      endpoint: string
      error: string
      error_description: string
      /** How many refusals up to this one had its endpoint and its error, with no other refusal between them. */
      count: number
      /** Seconds since the epoch. */
      at: number
    }[]
    credential_configurations: string[]
    credentials: {
      credential_configuration_id: string
      /** Seconds since the epoch. */
      issued_at: number
      credential_status: 'VALID' | 'SUSPENDED' | 'REVOKED'
    }[]
    /**
     * After a change of credential_status: when verifiers have seen it that keep a status list no longer than its ttl,
     * also those that get it from an HTTP cache, in seconds since the epoch.
     */
    credential_status_seen_by?: number
    /** Present when the session was started without its dataset. */
    deferred?: {
      state: 'PENDING' | 'COMPLETED' | 'DENIED'
      /** Credential requests whose credentials were not fetched yet. */
      waiting_requests: number
      /** The time when the application completed or denied the session. */
      decided_at?: number
    }
    /** Reports of wallets about their credentials. */
    notifications?: {
      credential_configuration_id: string
      event: 'credential_accepted' | 'credential_failure' | 'credential_deleted'
      event_description?: string
      /** Seconds since the epoch. */
      notified_at: number
    }[]
  }
  IssuanceSessionPage: {
    sessions: IssuerSchemas['ListedIssuanceSession'][]
    /**
     * The cursor of the following page; absent when there is none. With a filter a page may have few entries, or none,
     * and a next all the same.
     */
    next?: string
  }
  IssuerOverview: {
    /** Seconds since the epoch. */
    at: number
    /** Whether the database takes writes. */
    ready: boolean
    /** The certificates of the keys that this service signs with. */
    certificates: {
      /** The path of its setting. */
      key: string
      subject: string
      /** Seconds since the epoch. */
      not_after: number
    }[]
    callbacks: IssuerSchemas['CallbackCounts']
    sessions: IssuerSchemas['SessionHours']
    /** Among the sessions that were counted. */
    last_success: {
      /** Seconds since the epoch. */
      credential_issued_at?: number
    }
    status_lists: {
      /** How long verifiers may keep a list: a revocation is seen after that. */
      ttl_seconds: number
      /** The lists that new credentials get their entries in; a full one is followed by another. */
      current: {
        list_id: string
        entries: number
        /** Entries that processes have taken for credentials. */
        given_out: number
      }[]
    }
  }
  ListedIssuanceSession: {
    session_id: string
    status: 'STARTED' | 'SUCCEEDED' | 'EXPIRED'
    /** Seconds since the epoch. */
    created_at: number
    /** Seconds since the epoch. */
    expires_at: number
    /** The time when the first credential was issued, or the session expired. */
    ended_at?: number
    credential_configurations: string[]
    /** The last refusal of a wallet; the status of the session says more. */
    problem?: {
      endpoint: string
      error: string
      /** Seconds since the epoch. */
      at: number
    }
  }
  NewIssuanceSession: {
    credential_dataset?: IssuerSchemas['CredentialDataset']
    /** The dataset comes later; wallets wait. Then without credential_dataset. */
    deferred?: boolean
    credential_configurations: string[]
    /** Seconds; 600 when absent. */
    expires_in?: number
    /** The code of the offer, where an authorization server knows it already; used once; made when absent. */
    'pre-authorized_code'?: string
    /**
     * The grants of the offer; the pre-authorized code alone when absent, and authorization_code alone in the profile
     * haip. authorization_code needs the setting authentication, or an authorizationServer.
     */
    grants?: ('authorization_code' | 'urn:ietf:params:oauth:grant-type:pre-authorized_code')[]
    /**
     * The person whom the offer is for: claims that this person has to have after the sign-in, sub or one that
     * authentication.openidConnect names. With credential_dataset and the grant authorization_code alone.
     */
    person?: Record<string, string>
    tx_code?: IssuerSchemas['NewTransactionCode']
    /**
     * How long after its first token the wallet may get the credential anew; when absent not at all, and seven days
     * where it is deferred.
     */
    refresh_seconds?: number
  }
  /** The wallet asks its holder for a transaction code; give it another way than the offer. */
  NewTransactionCode: {
    /** Generated, and in the answer, when absent. */
    value?: string
    /** numeric when absent. */
    input_mode?: 'numeric' | 'text'
    /** The length of the value when absent; else 6, or 8 of text. */
    length?: number
    /** Shown by the wallet; without line breaks and control characters. */
    description?: string
  }
  Redelivery: {
    /** Only events that were given up by then, in seconds since the epoch; all when absent. */
    died_until?: number
  }
  RedeliveryResult: {
    /** How many events were queued again. */
    redelivered: number
    /** Whether there are more: send the request again, with this died_until. */
    has_more: boolean
    /** Seconds since the epoch. */
    died_until: number
  }
  SessionHours: {
    /** How many sessions were counted. */
    looked_at: number
    /** Whether these are all of the last 24 hours; no more than the newest 1000 are counted. */
    is_complete: boolean
    /** The last 24 hours, the oldest first. */
    hours: {
      /** Seconds since the epoch. */
      from: number
      /** Sessions that were started in this hour, by the state that they have now. */
      states: Record<string, number>
      /** The problems of these sessions, by the check that failed or the error. */
      problems: Record<string, number>
    }[]
  }
  StartedIssuanceSession: {
    session_id: string
    credential_offer_uri: string
    /** The transaction code, where one was generated. */
    tx_code?: string
  }
  WaitingCallback: {
    /** The id of the event, which the receiver gets as webhook-id. */
    callback_id: string
    session_id: string
    /** The type of the event; docs/callbacks.md. */
    type: string
    /** Seconds since the epoch. */
    occurred_at: number
    /** How many deliveries of this event have failed. */
    failures: number
    /** Why the last delivery failed. */
    problem?: string
    /** The time of the next delivery; absent while one is under way. */
    next_attempt_at?: number
    /** How many events of the same session wait for this one. */
    behind: number
  }
  WaitingCallbackPage: {
    callbacks: IssuerSchemas['WaitingCallback'][]
    /**
     * The cursor of the following page; absent when there is none. With a filter a page may have few entries, or none,
     * and a next all the same.
     */
    next?: string
  }
}
