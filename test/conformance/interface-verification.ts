/**
 * The rules of the HTTP interface of the verification service, in the order of its document;
 * docs/divergences/interface.md says what that is.
 */
import { at, type Section } from './row.ts'

export const verificationInterface: Section = {
  heading: 'The HTTP interface: verification service',
  file: 'test/conformance/interface-verification.ts',
  about: 'Each row and each rule of the document that laid it down ([interface.md](divergences/interface.md)).',
  rows: [
    {
      id: 'verification-1',
      asks: 'stores DCQL queries, starts any number of sessions from one',
      source: 'Verification service, What the service does',
      tests: [[at.verification, 'serves any number of sessions']],
    },
    {
      id: 'verification-2',
      asks: 'serves a signed request object, receives the presentation and verifies it',
      source: 'Verification service, What the service does',
      tests: [
        [at.verification, 'carries the fields of the interface, signed by the key of its certificate'],
        ['test/e2e/issue-and-verify.test.ts', 'verifies what it issued, and reports only what was disclosed'],
      ],
    },
    {
      id: 'verification-3',
      asks: 'checks the signatures of wallet and issuer',
      source: 'Verification service, What the service does',
      tests: [
        [at.verifier, '$attack ($fails)'],
        [at.verifier, 'there is an attack on every check, and a check for every attack'],
      ],
    },
    {
      id: 'verification-4',
      asks: 'checks conformance with the query',
      source: 'Verification service, What the service does',
      tests: [[at.credential, 'A claim that was asked for is not disclosed.']],
    },
    {
      id: 'verification-5',
      asks: 'checks nonce and session id',
      source: 'Verification service, What the service does',
      tests: [
        [at.holder, 'The presentation was made for another session with the same verifier.'],
        [at.verifier, 'a response to another request has the wrong state (presentation.session)'],
      ],
    },
    {
      id: 'verification-6',
      asks: 'trusts issuers by configured anchors; without any it starts, warns, and only shows well-formedness',
      source: 'Verification service, What the service does',
      tests: [
        [
          'src/verifier/authorization-response.test.ts',
          'verifies anybody who signs well, says so, and asks for no status',
        ],
        ['src/issuer/config.test.ts', 'warns when it trusts nobody'],
      ],
    },
    {
      id: 'verification-7',
      asks: 'its OpenAPI document',
      source: 'Verification service, What the service does',
      tests: [
        ['test/e2e/openapi.test.ts', 'of the %s is well-formed OpenAPI 3.1'],
        ['test/e2e/openapi.test.ts', 'of the %s lists every operation with its security, and nothing else'],
      ],
    },
    {
      id: 'verification-8',
      asks: '`port`, `baseUrl`, `database`, `clientMetadata.clientName`, `integrations.authentication`, `signing`, `issuerTrustAnchors`',
      source: 'Verification service, Configuration',
      tests: [
        [at.config, 'takes every setting that the interface names'],
        ['test/e2e/postgresql.test.ts', 'two processes verify together, and take one response of a session'],
      ],
    },
    {
      id: 'verification-9',
      asks: '`clientMetadata.clientName`: shown to the holder',
      source: 'Verification service, Configuration',
      tests: [[at.verification, 'carries the fields of the interface, signed by the key of its certificate']],
    },
    {
      id: 'verification-10',
      asks: '`issuerTrustAnchors`: a directory of PEM certificates, not keys',
      source: 'Verification service, Configuration',
      tests: [
        ['src/issuer/config.test.ts', 'refuses anchors that cannot be read, together with every other mistake'],
        ['src/keys/certificate.test.ts', 'a block of the kind %s is refused, and its content is not repeated'],
      ],
    },
    {
      id: 'verification-11',
      asks: '`sessionCallback`',
      source: 'Verification service, Configuration',
      tests: [
        ['test/interop/callbacks.test.ts', 'tell of a verification what its status says, and keep none of it'],
        ['src/config/session-callback.test.ts', 'may not be %j'],
      ],
    },
    {
      id: 'verification-12',
      asks: 'the client_id is `x509_hash:` and a hash of the signing certificate',
      source: 'Verification service, Configuration',
      tests: [
        [at.verification, 'is a deep link with the request and the hash of the certificate, and leads to the request'],
      ],
    },
    {
      id: 'verification-13',
      asks: 'body `{dcql_query}`; an id as plain text',
      source: 'Verification service, Verification query and DCQL',
      tests: [[at.verification, 'is stored as it was posted, under an id in plain text, at both paths']],
    },
    {
      id: 'verification-14',
      asks: '`credentials`: all must be presented',
      source: 'Verification service, Verification query and DCQL',
      tests: [[at.response, 'The wallet answers one of two credential queries.']],
    },
    {
      id: 'verification-15',
      asks: '`credentials[].id` required and unique, and the key in the response',
      source: 'Verification service, Verification query and DCQL',
      tests: [
        ['src/protocol/dcql.test.ts', 'dcql_query.credentials[1].id: is used before; choose another'],
        [at.response, 'The wallet sends the presentation under another id only.'],
      ],
    },
    {
      id: 'verification-16',
      asks: '`credentials[].format`',
      source: 'Verification service, Verification query and DCQL',
      tests: [
        ['src/protocol/dcql.test.ts', 'a missing format and meta'],
        [at.credential, 'The credential has the type of an SD-JWT VC.'],
        ['test/e2e/formats.test.ts', 'goes from the issuer to the wallet and from there to the verifier'],
      ],
    },
    {
      id: 'verification-17',
      asks: '`credentials[].meta`: required, may be empty',
      source: 'Verification service, Verification query and DCQL',
      tests: [
        ['src/protocol/dcql.test.ts', 'a missing format and meta'],
        ['src/protocol/dcql.test.ts', 'the smallest one'],
      ],
    },
    {
      id: 'verification-18',
      asks: '`credentials[].claims`, `claims[].path`',
      source: 'Verification service, Verification query and DCQL',
      tests: [
        [at.credential, 'The claim that was asked for is there, but not where it should be.'],
        ['src/verifier/authorization-response.test.ts', 'to show $name'],
      ],
    },
    {
      id: 'verification-19',
      asks: '`claims[].id`: unique if used',
      source: 'Verification service, Verification query and DCQL',
      tests: [['src/protocol/dcql.test.ts', `\${first}.claims[1].id: is used before; choose another`]],
    },
    {
      id: 'verification-20',
      asks: '`session_id`, `request_uri` of the given form',
      source: 'Verification service, Verification session and request object',
      tests: [
        [at.verification, 'is a deep link with the request and the hash of the certificate, and leads to the request'],
      ],
    },
    {
      id: 'verification-21',
      asks: 'header `x5c`; `dcql_query`, `response_uri`, `response_mode`, `client_metadata`, `nonce`, `client_id`',
      source: 'Verification service, Verification session and request object',
      tests: [[at.verification, 'carries the fields of the interface, signed by the key of its certificate']],
    },
    {
      id: 'verification-22',
      asks: 'response mode `direct_post` for a query without `mso_mdoc`',
      source: 'Verification service, Verification session and request object',
      tests: [[at.verification, 'carries the fields of the interface, signed by the key of its certificate']],
    },
    {
      id: 'verification-23',
      asks: 'response mode `direct_post.jwt` for a query with `mso_mdoc`',
      source: 'Verification service, Verification session and request object',
      tests: [
        [
          'src/verifier/response-encryption.test.ts',
          'a query for %j has the response mode %s, and direct_post.jwt in any case under the profile',
        ],
      ],
    },
    {
      id: 'verification-24',
      asks: '`vp_token`: JSON object by query id, arrays of SD-JWTs with selected disclosures and key binding',
      source: 'Verification service, Presentation response',
      tests: [
        ['test/e2e/issue-and-verify.test.ts', 'verifies what it issued, and reports only what was disclosed'],
        [at.session, 'with $body is refused, and leaves the session open'],
      ],
    },
    {
      id: 'verification-25',
      asks: '`response` (encrypted)',
      source: 'Verification service, Presentation response',
      tests: [
        [at.encrypted, 'a good response is taken, by either encryption'],
        [at.encrypted, 'with $attack is refused, and leaves the session open'],
      ],
    },
    {
      id: 'verification-26',
      asks: '`error`: the holder declined',
      source: 'Verification service, Presentation response',
      tests: [
        [at.session, 'is cut when it is long'],
        [at.verification, 'records that the holder declined'],
      ],
    },
    {
      id: 'verification-27',
      asks: 'the endpoint follows from the response mode',
      source: 'Verification service, Presentation response',
      tests: [[at.encrypted, 'each endpoint serves its own mode only']],
    },
    {
      id: 'verification-28',
      asks: 'created → open',
      source: 'Verification service, States',
      tests: [
        [at.verification, 'is a deep link with the request and the hash of the certificate, and leads to the request'],
      ],
    },
    {
      id: 'verification-29',
      asks: 'open → `VERIFICATION_SUCCEEDED`',
      source: 'Verification service, States',
      tests: [['test/e2e/issue-and-verify.test.ts', 'verifies what it issued, and reports only what was disclosed']],
    },
    {
      id: 'verification-30',
      asks: '`POST /verification-query/create`, `POST /dcql-query/create` (201, the id), `GET /verification-query/{id}`',
      source: 'Verification service, Endpoints',
      tests: [[at.verification, 'is stored as it was posted, under an id in plain text, at both paths']],
    },
    {
      id: 'verification-31',
      asks: '`POST /presentation/oid4vp/new-session`',
      source: 'Verification service, Endpoints',
      tests: [
        [at.verification, 'is a deep link with the request and the hash of the certificate, and leads to the request'],
      ],
    },
    {
      id: 'verification-32',
      asks: '`GET /presentation/oid4vp/status/{session_id}`',
      source: 'Verification service, Endpoints',
      tests: [['test/e2e/issue-and-verify.test.ts', 'verifies what it issued, and reports only what was disclosed']],
    },
    {
      id: 'verification-33',
      asks: '`POST /presentation/oid4vp/static-presentation`',
      source: 'Verification service, Endpoints',
      tests: [['test/e2e/static-presentation.test.ts', 'gives the report that a session would have, of $format']],
    },
    {
      id: 'verification-34',
      asks: '`GET /presentation/oid4vp/authorization-request/{session_id}`',
      source: 'Verification service, Endpoints',
      tests: [[at.verification, 'carries the fields of the interface, signed by the key of its certificate']],
    },
    {
      id: 'verification-35',
      asks: '`POST /presentation/oid4vp/authorization-response/{session_id}`',
      source: 'Verification service, Endpoints',
      tests: [['test/e2e/issue-and-verify.test.ts', 'verifies what it issued, and reports only what was disclosed']],
    },
    {
      id: 'verification-36',
      asks: '`POST /presentation/oid4vp/encrypted-authorization-response/{session_id}`',
      source: 'Verification service, Endpoints',
      tests: [
        [at.encrypted, 'each endpoint serves its own mode only'],
        [at.encrypted, 'is recorded, %s'],
      ],
    },
    {
      id: 'verification-37',
      asks: 'wallet-side checks of the request object: chain, signature, hash',
      source: 'Verification service, Endpoints',
      tests: [
        ['src/wallet/request-object.test.ts', 'signed by another key than that of its certificate'],
        ['src/wallet/request-object.test.ts', 'with the certificate of somebody else'],
      ],
    },
    {
      id: 'verification-38',
      asks: 'the endpoints that need the API key',
      source: 'Verification service, Authentication',
      tests: [[at.httpApiKey, 'decides 401 before anything else about the request']],
    },
    {
      id: 'verification-39',
      asks: 'the JSON key is the secret; read at start-up',
      source: 'Verification service, Authentication',
      tests: [[at.issuance, 'is the JSON key and not its label, and changes with a restart only']],
    },
    {
      id: 'verification-40',
      asks: 'missing or unrecognized: 401',
      source: 'Verification service, Authentication',
      tests: [[at.httpApiKey, 'decides 401 before anything else about the request']],
    },
    {
      id: 'verification-41',
      asks: 'wallet-facing endpoints carry none; the session id secures them',
      source: 'Verification service, Authentication',
      tests: [
        [at.httpWallet, 'needs no API key, and one does no harm'],
        [at.session, 'and sends the session id as the key does not see it either'],
      ],
    },
    {
      id: 'verification-42',
      asks: 'certificates in `issuerTrustAnchors` decide who is trusted',
      source: 'Verification service, Authentication',
      tests: [[at.issuer, 'An attacker signs, with a self-signed certificate that says what that of the issuer says.']],
    },
    {
      id: 'verification-43',
      asks: 'query ids unique; claim ids unique if used',
      source: 'Verification service, Limits',
      tests: [
        ['src/protocol/dcql.test.ts', 'dcql_query.credentials[1].id: is used before; choose another'],
        ['src/protocol/dcql.test.ts', `\${first}.claims[1].id: is used before; choose another`],
      ],
    },
    {
      id: 'verification-44',
      asks: 'no per-key rate limiting',
      source: 'Verification service, Authentication',
      tests: [['test/e2e/rate-limits.test.ts', 'limits nothing unless it is told to, and an API key never']],
    },
  ],
}
