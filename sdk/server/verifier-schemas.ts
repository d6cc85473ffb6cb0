/** The schemas of a verifier. Generated from its OpenAPI document by `npm run docs`; do not edit. */
export interface VerifierSchemas {
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
    records: VerifierSchemas['AuditRecord'][]
    /** Blocks of the log among these records that cannot be read: look for a backup that has them. */
    damaged_blocks?: number[]
    /**
     * The cursor of the following page; absent when there is none. With a filter a page may have few entries, or none,
     * and a next all the same.
     */
    next?: string
    head?: VerifierSchemas['AuditHead']
    checkpoint?: VerifierSchemas['AuditCheckpoint']
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
  ChainTest: {
    /** PEM: the certificate of an issuer, then those between it and an anchor in any order; ten at most. */
    certificates: string
  }
  ChainTestResult: {
    /** Whether a credential that the first certificate signed now would be trusted. */
    trusted: boolean
    /** `anchors`: issuers have to lead to an anchor; `open`: none are configured, and any certificate will do. */
    trust: 'open' | 'anchors'
    checks: VerifierSchemas['Check'][]
    /** The certificates that were sent, in their order. */
    certificates: VerifierSchemas['TestedCertificate'][]
    /** The certificates from the first to the anchor, where there is a path. */
    path?: VerifierSchemas['TestedCertificate'][]
    anchor?: VerifierSchemas['TrustAnchor']
    /** The url of the trust list that has the anchor. */
    trust_list?: string
    /** The time when the first certificate of the path expires, in seconds since the epoch. */
    valid_until?: number
  }
  /** docs/checks.md. */
  Check: {
    id: string
    asks: string
    spec: string
    level: 'MUST' | 'SHOULD'
    outcome: 'passed' | 'failed' | 'warning' | 'not_applicable' | 'not_run'
    detail?: string
  }
  Claims: Record<string, unknown>
  /** OpenID4VP 1.0, Claims Query. */
  ClaimsQuery: {
    id?: string
    path: (string | number | null)[]
    values?: (string | number | boolean)[]
    /** For mso_mdoc: whether you keep the element for longer than you verify it. */
    intent_to_retain?: boolean
  }
  /** OpenID4VP 1.0, Credential Query. */
  CredentialQuery: {
    id: string
    /** jwt_vc_json-ld, vc+sd-jwt, dc+sd-jwt, jwt_vc_json or mso_mdoc. */
    format: string
    meta: VerifierSchemas['CredentialQueryMeta']
    /** False when absent. */
    multiple?: boolean
    claims?: VerifierSchemas['ClaimsQuery'][]
    /** Ids of claims, best first. */
    claim_sets?: string[][]
    /** True when absent. */
    require_cryptographic_holder_binding?: boolean
    trusted_authorities?: VerifierSchemas['TrustedAuthoritiesQuery'][]
  }
  /** The types that are wanted; any type where it is empty. */
  CredentialQueryMeta: {
    /** The wanted sets of types, for W3C formats. */
    type_values?: string[][]
    /** The wanted types, for dc+sd-jwt. */
    vct_values?: string[]
    /** The wanted type, for mso_mdoc. */
    doctype_value?: string
  }
  CredentialReport: {
    format: string
    /** The verified certificate of the key that signed: who issued it. */
    issuer_certificate?: {
      /** The name of its holder, as in CN=Example University, C=DE. */
      subject: string
      /** The digest of the certificate, in hexadecimal. */
      sha256: string
      /** The trust anchor that it leads to. */
      anchor?: {
        /** The name of its holder, as in CN=Example University, C=DE. */
        subject: string
        /** The digest of the certificate, in hexadecimal. */
        sha256: string
        /** The url of the trust list that has the anchor. */
        trust_list?: string
      }
    }
    /** The issuer that the credential names: a canonical https URL, DID or URN. Look at issuer.identifier too. */
    issuer?: string
    type?: string[]
    claims?: VerifierSchemas['Claims']
    holder_key_thumbprint?: string
    valid_from?: string
    valid_until?: string
    checks: VerifierSchemas['Check'][]
  }
  /** OpenID4VP 1.0, Credential Set Query. */
  CredentialSetQuery: {
    options: string[][]
    /** True when absent. */
    required?: boolean
  }
  /** OpenID4VP 1.0, Digital Credentials Query Language. */
  DcqlQuery: {
    credentials: VerifierSchemas['CredentialQuery'][]
    credential_sets?: VerifierSchemas['CredentialSetQuery'][]
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
    callbacks: VerifierSchemas['DeadCallback'][]
    /**
     * The cursor of the following page; absent when there is none. With a filter a page may have few entries, or none,
     * and a next all the same.
     */
    next?: string
  }
  ListedVerificationSession: {
    session_id: string
    status: 'STARTED' | 'VERIFICATION_SUCCEEDED' | 'VERIFICATION_FAILED' | 'DECLINED' | 'EXPIRED'
    verification_query_id: string
    /** Seconds since the epoch. */
    created_at: number
    /** Seconds since the epoch. */
    expires_at: number
    /** The time when the session came to its final state. */
    ended_at?: number
    /** The ids of the checks that failed; docs/checks.md. */
    failed_checks?: string[]
    wallet_error?: {
      error: string
    }
    /** The last refusal of a wallet; the status of the session says more. */
    problem?: {
      endpoint: string
      error: string
      /** Seconds since the epoch. */
      at: number
    }
  }
  NewVerificationQuery: {
    dcql_query: VerifierSchemas['DcqlQuery']
  }
  NewVerificationSession: {
    verification_query_id: string
    /** Seconds. */
    expires_in?: number
    /**
     * Same-device flow: where the wallet sends the person afterwards, with a response_code, without which the status
     * has no result.
     */
    redirect_uri?: string
    transaction_data?: VerifierSchemas['TransactionData'][]
    /** Stands in the link when it is given; with post, a wallet may send a wallet_nonce. Not beside link: false. */
    request_uri_method?: 'post' | 'get'
    /**
     * The origin of the page that may ask the browser for the response (Digital Credentials API), such as
     * https://shop.example.
     */
    origin?: string
    /** With false, the session has no link, and only the browser gives its response; true when absent. */
    link?: boolean
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
  Simulation: {
    dcql_query: VerifierSchemas['DcqlQuery']
    credentials: (
      | string
      | {
          /** Required. */
          format?: string
          /** The credential as issued. */
          credential?: string
          claims?: VerifierSchemas['Claims']
          type?: string | string[]
          vct?: string
          doctype?: string
        }
    )[]
  }
  SimulationResult: {
    /** Whether a wallet with all of these credentials could answer. */
    satisfied: boolean
    /** Why it could not, and which parts of the query never request anything. */
    explanation?: string
    /** The format and the type that each was read as. */
    credentials: {
      format: string
      type: string[]
    }[]
    credential_queries: Record<
      string,
      {
        /** The credentials of which a wallet sends one, or several with `multiple`. */
        matches: {
          /** The index of the credential in the request. */
          credential: number
          discloses: (string | number | null)[][]
        }[]
        others: {
          credential: number
          reason: string
        }[]
      }
    >
    credential_sets?: {
      required: boolean
      /** The option. */
      satisfied_by: string[] | null
    }[]
  }
  StartedVerificationSession: {
    session_id: string
    /** The link; absent if the session has none. */
    request_uri?: string
    /** Where the page fetches its request for the browser, and posts the response; with an origin. */
    digital_credentials_uri?: string
  }
  StaticPresentation: {
    /** Either this or dcql_query. */
    verification_query_id?: string
    dcql_query?: VerifierSchemas['DcqlQuery']
    vp_token: VerifierSchemas['VpToken']
    /** Not compared when absent. */
    nonce?: string
    /**
     * The client_id of the request, or origin: and the origin of the page that asked the browser; not compared when
     * absent.
     */
    audience?: string
    /** The address of the request; an mso_mdoc that a link asked for is signed over it. */
    response_uri?: string
    /** The thumbprint (RFC 7638) of the key that the response was encrypted to; an mso_mdoc is signed over it. */
    encryption_jwk_thumbprint?: string
  }
  TestedCertificate: {
    /** The name of its holder, as in CN=Example University, C=DE. */
    subject: string
    /** The digest of the certificate, in hexadecimal. */
    sha256: string
    /** The name of who signed the certificate. */
    issuer: string
    /** Seconds since the epoch. */
    not_before: number
    /** Seconds since the epoch. */
    not_after: number
  }
  /** OpenID4VP 1.0, Transaction Data; with the members of the type. */
  TransactionData: {
    type: string
    credential_ids: string[]
    [name: string]: unknown
  }
  TrustAnchor: {
    /** The name of its holder, as in CN=Example University, C=DE. */
    subject: string
    /** The digest of the certificate, in hexadecimal. */
    sha256: string
    /** The name of who signed the certificate. */
    issuer: string
    /** Seconds since the epoch. */
    not_before: number
    /** Seconds since the epoch. */
    not_after: number
    /** The name of its file in issuerTrustAnchors. */
    file: string
    /** Why nothing leads to it now, such as that it has expired. */
    problem?: string
  }
  TrustAnchorList: {
    /** `anchors`: issuers have to lead to an anchor; `open`: none are configured, and any certificate will do. */
    trust: 'open' | 'anchors'
    /** The certificates of issuerTrustAnchors. */
    anchors: VerifierSchemas['TrustAnchor'][]
    /** The lists of trustLists, whose certificates are anchors too. */
    trust_lists: VerifierSchemas['TrustList'][]
  }
  TrustList: {
    url: string
    /** The types that it is for; absent for all. */
    credential_types?: string[]
    /** The number of the newest list; absent before the first. */
    sequence_number?: number
    /** Seconds since the epoch. */
    issued_at?: number
    /** Until when the newest list counts, in seconds. */
    next_update?: number
    /** How many certificates of it are anchors now. */
    certificates: number
    /** Why it does not count now, or why no newer one was fetched. */
    problem?: string
  }
  /** OpenID4VP 1.0, Trusted Authorities Query. */
  TrustedAuthoritiesQuery: {
    /** aki, or etsi_tl with the url of one of trustLists. */
    type: string
    values: string[]
  }
  VerificationQuery: {
    verification_query_id: string
    dcql_query: VerifierSchemas['DcqlQuery']
  }
  VerificationResult: {
    verified: boolean
    /**
     * `anchors`: issuers lead to one of issuerTrustAnchors or trustLists; `open`: none are configured, and anybody may
     * have issued what verifies. Absent in reports of earlier releases.
     */
    trust?: 'open' | 'anchors'
    checks: VerifierSchemas['Check'][]
    credentials: Record<string, VerifierSchemas['CredentialReport'][]>
  }
  VerificationSession: {
    session_id: string
    status: 'STARTED' | 'VERIFICATION_SUCCEEDED' | 'VERIFICATION_FAILED' | 'DECLINED' | 'EXPIRED'
    verification_query_id: string
    /** Seconds since the epoch. */
    created_at: number
    /** Seconds since the epoch. */
    expires_at: number
    /** The time when the session came to its final state. */
    ended_at?: number
    /** When a wallet first fetched the request object, in seconds since the epoch. */
    request_fetched_at?: number
    /** The last refusal of a wallet. */
    problem?: {
      /** Such as authorization-request, authorization-response. */
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
      /** Such as authorization-request, authorization-response. */
      endpoint: string
      error: string
      error_description: string
      /** How many refusals up to this one had its endpoint and its error, with no other refusal between them. */
      count: number
      /** Seconds since the epoch. */
      at: number
    }[]
    /** Seconds since the epoch. */
    erased_at?: number
    /**
     * How the response came; with dc_api.jwt and org-iso-mdoc through the browser (Digital Credentials API). Absent
     * while there is none.
     */
    response_mode?: 'direct_post' | 'direct_post.jwt' | 'dc_api.jwt' | 'org-iso-mdoc'
    result?: VerifierSchemas['VerificationResult']
    wallet_error?: {
      error: string
      error_description?: string
    }
  }
  VerificationSessionPage: {
    sessions: VerifierSchemas['ListedVerificationSession'][]
    /**
     * The cursor of the following page; absent when there is none. With a filter a page may have few entries, or none,
     * and a next all the same.
     */
    next?: string
  }
  VerifierOverview: {
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
    callbacks: VerifierSchemas['CallbackCounts']
    sessions: VerifierSchemas['SessionHours']
    /** Among the sessions that were counted. */
    last_success: {
      /** Seconds since the epoch. */
      verified_at?: number
    }
    /** Absent where none are configured: then anybody may have issued what is presented. */
    trust_anchors?: {
      count: number
      /** Up to 20 of them. */
      ending_first: {
        subject: string
        /** Seconds since the epoch. */
        not_after: number
      }[]
    }
  }
  /** Credential query id to array of presentations. */
  VpToken: Record<string, (string | Record<string, unknown>)[]>
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
    callbacks: VerifierSchemas['WaitingCallback'][]
    /**
     * The cursor of the following page; absent when there is none. With a filter a page may have few entries, or none,
     * and a next all the same.
     */
    next?: string
  }
}
