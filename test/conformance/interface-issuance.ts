/**
 * The rules of the HTTP interface of the issuance service, in the order of its document;
 * docs/divergences/interface.md says what that is.
 */
import { at, type Section } from './row.ts'

export const issuanceInterface: Section = {
  heading: 'The HTTP interface: issuance service',
  file: 'test/conformance/interface-issuance.ts',
  about: 'Each row and each rule of the document that laid it down ([interface.md](divergences/interface.md)).',
  rows: [
    {
      id: 'issuance-1',
      asks: 'declare configurations, start sessions, read their status',
      source: 'Issuance service, What the service does',
      tests: [
        [at.issuance, 'gives the id of a configuration as plain text, and the configuration back as it was posted'],
        [at.issuance, 'gives the session and a deep link to its offer'],
        [at.issuance, 'tells the application where the session stands'],
      ],
    },
    {
      id: 'issuance-2',
      asks: 'revoke a credential',
      source: 'Issuance service, What the service does',
      tests: [
        [at.status, 'of the format %s names its entry, and the entry follows it'],
        ['test/e2e/status-lookup.test.ts', '%s: is suspended, reinstated, and revoked'],
      ],
    },
    {
      id: 'issuance-3',
      asks: 'the pre-authorized code flow towards a wallet',
      source: 'Issuance service, What the service does',
      tests: [
        ['test/e2e/issue-and-verify.test.ts', 'verifies what it issued, and reports only what was disclosed'],
        ['test/interop/wallet.test.ts', 'receives a credential with %s and a key proof by %s'],
      ],
    },
    {
      id: 'issuance-4',
      asks: 'the authorization server role, filled by the service',
      source: 'Issuance service, What the service does',
      tests: [
        [at.issuance, 'describes its authorization server at all three addresses'],
        [at.issuance, 'gives a token that its published key verifies'],
      ],
    },
    {
      id: 'issuance-5',
      asks: 'the same, filled by an external server',
      source: 'Issuance service, What the service does',
      tests: [
        [
          'test/interop/external-server.test.ts',
          'takes code and transaction code of an independent wallet, which gets its credential from us',
        ],
        ['test/e2e/authorization-server.test.ts', 'names it in its metadata, and itself nowhere'],
        [at.externalToken, '$attack is refused'],
      ],
    },
    {
      id: 'issuance-6',
      asks: 'signs with its own key and certificate',
      source: 'Issuance service, What the service does',
      tests: [[at.issuance, 'issues an SD-JWT with the members that the interface names, and no others']],
    },
    {
      id: 'issuance-7',
      asks: "its OpenAPI document with each endpoint's security",
      source: 'Issuance service, What the service does',
      tests: [
        ['test/e2e/openapi.test.ts', 'of the %s is well-formed OpenAPI 3.1'],
        ['test/e2e/openapi.test.ts', 'of the %s lists every operation with its security, and nothing else'],
      ],
    },
    {
      id: 'issuance-8',
      asks: '`conf/server.json`, read once at start-up, paths relative to the working directory; a relational database',
      source: 'Issuance service, What the service does',
      tests: [
        [at.process, 'reads another file and another directory, with paths relative to the working directory'],
        [at.process, 'has on disk what it answered, also when it is killed in that moment'],
        [
          'test/faults/postgresql-faults.test.ts',
          'loses nothing that it has answered, lives on, and is ready again by itself',
        ],
      ],
    },
    {
      id: 'issuance-9',
      asks: '`port`, `baseUrl`, `database` and its five members, `issuer.id`, `issuer.display.name`, `signing.keyFile`, `signing.certificateFiles`, `integrations.authentication`',
      source: 'Issuance service, Configuration',
      tests: [
        [at.config, 'takes every setting that the interface names'],
        ['test/e2e/postgresql.test.ts', 'processes issue together, and take each code and each nonce once'],
      ],
    },
    {
      id: 'issuance-10',
      asks: '`port`: where it listens',
      source: 'Issuance service, Configuration',
      tests: [[at.process, '%s says in one JSON line that it listens, and where']],
    },
    {
      id: 'issuance-11',
      asks: '`baseUrl`: the address that wallets are told',
      source: 'Issuance service, Configuration',
      tests: [[at.issuance, 'describes itself to the wallet of a session at all three addresses']],
    },
    {
      id: 'issuance-12',
      asks: '`issuer.id`: identifier of the issuer',
      source: 'Issuance service, Configuration',
      tests: [[at.issuance, 'issues an SD-JWT with the members that the interface names, and no others']],
    },
    {
      id: 'issuance-13',
      asks: '`issuer.display.name`: display name of the issuer',
      source: 'Issuance service, Configuration',
      tests: [[at.issuance, 'describes itself to the wallet of a session at all three addresses']],
    },
    {
      id: 'issuance-14',
      asks: '`sessionCallback`',
      source: 'Issuance service, Configuration',
      tests: [
        ['test/interop/callbacks.test.ts', 'tell of an issuance, with a secret that begins with %j'],
        ['src/config/session-callback.test.ts', 'may not be %j'],
      ],
    },
    {
      id: 'issuance-15',
      asks: 'rule: `signing` is required, and the service does not start without the files',
      source: 'Issuance service, Configuration',
      tests: [
        [at.config, 'refuses signing without files'],
        [at.process, 'ends with 2 and lists every mistake with its path, and no API key'],
      ],
    },
    {
      id: 'issuance-16',
      asks: 'rule: an EC P-256 key with a self-signed certificate does for local use',
      source: 'Issuance service, Configuration',
      tests: [['test/e2e/init.test.ts', 'writes an issuer that can start, and says how to go on']],
    },
    {
      id: 'issuance-17',
      asks: 'rule: the certificate, never the key, is the trust anchor',
      source: 'Issuance service, Configuration',
      tests: [
        ['test/e2e/issue-and-verify.test.ts', 'verifies what it issued, and reports only what was disclosed'],
        ['src/keys/certificate.test.ts', 'a block of the kind %s is refused, and its content is not repeated'],
      ],
    },
    {
      id: 'issuance-18',
      asks: 'an id assigned by the service, as plain text',
      source: 'Issuance service, Credential configuration',
      tests: [
        [at.issuance, 'gives the id of a configuration as plain text, and the configuration back as it was posted'],
      ],
    },
    {
      id: 'issuance-19',
      asks: '`format`, `credential_definition.@context`, `credential_definition.type`',
      source: 'Issuance service, Credential configuration',
      tests: [
        [at.issuance, 'describes itself to the wallet of a session at all three addresses'],
        [at.admin, 'create refuses $mistake and stores nothing'],
      ],
    },
    {
      id: 'issuance-20',
      asks: '`credential_metadata.display` with its fields',
      source: 'Issuance service, Credential configuration',
      tests: [[at.issuance, 'describes itself to the wallet of a session at all three addresses']],
    },
    {
      id: 'issuance-21',
      asks: '`credential_metadata.claims`: `path`, `mandatory` (the metadata shows false), `display`',
      source: 'Issuance service, Credential configuration',
      tests: [[at.issuance, 'describes itself to the wallet of a session at all three addresses']],
    },
    {
      id: 'issuance-22',
      asks: '`session_id`, `credential_offer_uri` of the given form',
      source: 'Issuance service, Issuance session, offer, metadata, token, nonce',
      tests: [[at.issuance, 'gives the session and a deep link to its offer']],
    },
    {
      id: 'issuance-23',
      asks: '`session_id` is an access secret',
      source: 'Issuance service, Issuance session, offer, metadata, token, nonce',
      tests: [[at.admin, 'starts sessions that do not know each other, with ids of 144 random bits']],
    },
    {
      id: 'issuance-24',
      asks: '`status`: `STARTED`, `SUCCEEDED`',
      source: 'Issuance service, Issuance session, offer, metadata, token, nonce',
      tests: [[at.issuance, 'tells the application where the session stands']],
    },
    {
      id: 'issuance-25',
      asks: 'offer: `credential_issuer`, `credential_configuration_ids`, `grants`',
      source: 'Issuance service, Issuance session, offer, metadata, token, nonce',
      tests: [
        [at.issuance, 'offers the configurations of the session, by the identifier of the session'],
        [at.issuance, 'offers by that name, and everything a wallet derives from it works'],
      ],
    },
    {
      id: 'issuance-26',
      asks: 'issuer metadata: `credential_issuer`, `credential_endpoint`, `nonce_endpoint`, `authorization_servers`, `credential_configurations_supported`',
      source: 'Issuance service, Issuance session, offer, metadata, token, nonce',
      tests: [[at.issuance, 'describes itself to the wallet of a session at all three addresses']],
    },
    {
      id: 'issuance-27',
      asks: 'the ids in the offer are among the configurations of the metadata',
      source: 'Issuance service, Issuance session, offer, metadata, token, nonce',
      tests: [[at.oidfIssuer, 'oid4vci-1_0-issuer-happy-flow']],
    },
    {
      id: 'issuance-28',
      asks: 'authorization server metadata: `token_endpoint`, `jwks_uri`',
      source: 'Issuance service, Issuance session, offer, metadata, token, nonce',
      tests: [[at.issuance, 'describes its authorization server at all three addresses']],
    },
    {
      id: 'issuance-29',
      asks: 'token response: `access_token`, `token_type` `Bearer`, `expires_in`',
      source: 'Issuance service, Issuance session, offer, metadata, token, nonce',
      tests: [[at.issuance, 'gives a token that its published key verifies']],
    },
    {
      id: 'issuance-30',
      asks: 'nonce response: `c_nonce`',
      source: 'Issuance service, Issuance session, offer, metadata, token, nonce',
      tests: [[at.issuance, 'gives nonces that differ']],
    },
    { id: 'issuance-31', asks: 'header `typ`', source: 'Issuance service, Proof JWT', tests: [[at.proof, 'no typ']] },
    { id: 'issuance-32', asks: 'header `alg`', source: 'Issuance service, Proof JWT', tests: [[at.proof, 'no alg']] },
    {
      id: 'issuance-33',
      asks: 'header `kid`, a `did:jwk:`',
      source: 'Issuance service, Proof JWT',
      tests: [
        [at.issuance, 'binds the credential to the key of a proof by %s'],
        [at.proof, 'no key at all'],
      ],
    },
    {
      id: 'issuance-34',
      asks: 'body `nonce`, from the nonce endpoint',
      source: 'Issuance service, Proof JWT',
      tests: [
        [at.proof, 'no nonce'],
        [at.proof, 'a random nonce'],
      ],
    },
    {
      id: 'issuance-35',
      asks: 'body `aud`, the credential issuer identifier of the offer',
      source: 'Issuance service, Proof JWT',
      tests: [[at.proof, 'no aud']],
    },
    {
      id: 'issuance-36',
      asks: 'body `iat`: only newly created proofs',
      source: 'Issuance service, Proof JWT',
      tests: [
        [at.proof, 'no iat'],
        [at.proof, 'takes an iat from 300 seconds ago to 60 seconds ahead, and not a second more'],
      ],
    },
    {
      id: 'issuance-37',
      asks: 'created → `STARTED`',
      source: 'Issuance service, States',
      tests: [[at.issuance, 'tells the application where the session stands']],
    },
    {
      id: 'issuance-38',
      asks: '`STARTED` → `SUCCEEDED` when the credential has been issued',
      source: 'Issuance service, States',
      tests: [
        [at.issuance, 'tells the application where the session stands'],
        [at.token, 'stays SUCCEEDED for ever once a credential was issued'],
      ],
    },
    {
      id: 'issuance-39',
      asks: '`POST /issuance/oid4vci/new-session`',
      source: 'Issuance service, Endpoints',
      tests: [[at.issuance, 'gives the session and a deep link to its offer']],
    },
    {
      id: 'issuance-40',
      asks: '`GET /issuance/oid4vci/status/{session_id}`',
      source: 'Issuance service, Endpoints',
      tests: [[at.issuance, 'tells the application where the session stands']],
    },
    {
      id: 'issuance-41',
      asks: '`POST /credential-configuration/create`, `GET /credential-configuration/{id}`',
      source: 'Issuance service, Endpoints',
      tests: [
        [at.issuance, 'gives the id of a configuration as plain text, and the configuration back as it was posted'],
      ],
    },
    {
      id: 'issuance-42',
      asks: '`POST /credential-configuration/remove/{id}`',
      source: 'Issuance service, Endpoints',
      tests: [[at.token, 'lets sessions of a removed configuration go on, and new ones not begin']],
    },
    {
      id: 'issuance-43',
      asks: '`POST /credential-status/revoke/{session_id}`',
      source: 'Issuance service, Endpoints',
      tests: [
        [at.status, 'of the format %s names its entry, and the entry follows it'],
        [at.status, 'reach every copy, each with an entry of its own; afterwards there is none more'],
      ],
    },
    {
      id: 'issuance-44',
      asks: '`GET /issuance/oid4vci/credential-offer/{session_id}`',
      source: 'Issuance service, Endpoints',
      tests: [[at.issuance, 'offers the configurations of the session, by the identifier of the session']],
    },
    {
      id: 'issuance-45',
      asks: '`GET /.well-known/openid-credential-issuer/{session_id}`',
      source: 'Issuance service, Endpoints',
      tests: [[at.issuance, 'describes itself to the wallet of a session at all three addresses']],
    },
    {
      id: 'issuance-46',
      asks: '`POST /issuance/oid4vci/nonce/{session_id}`',
      source: 'Issuance service, Endpoints',
      tests: [[at.issuance, 'gives nonces that differ']],
    },
    {
      id: 'issuance-47',
      asks: '`POST /issuance/oid4vci/credential-request`',
      source: 'Issuance service, Endpoints',
      tests: [
        [at.issuance, 'issues an SD-JWT with the members that the interface names, and no others'],
        [at.request, '$attack: $refusal.error and without effect ($module)'],
      ],
    },
    {
      id: 'issuance-48',
      asks: 'its request with `proof`, its response with `credentials`',
      source: 'Issuance service, Endpoints',
      tests: [[at.issuance, 'issues an SD-JWT with the members that the interface names, and no others']],
    },
    {
      id: 'issuance-49',
      asks: '`GET /.well-known/oauth-authorization-server/{session_id}`',
      source: 'Issuance service, Endpoints',
      tests: [[at.issuance, 'describes its authorization server at all three addresses']],
    },
    {
      id: 'issuance-50',
      asks: '`POST /auth/token-endpoint/{session_id}`',
      source: 'Issuance service, Endpoints',
      tests: [
        [at.issuance, 'gives a token that its published key verifies'],
        [at.token, '$attack: $error and without effect ($module)'],
      ],
    },
    {
      id: 'issuance-51',
      asks: '`GET /auth/.well-known/jwks`',
      source: 'Issuance service, Endpoints',
      tests: [[at.issuance, 'gives a token that its published key verifies']],
    },
    {
      id: 'issuance-52',
      asks: '`GET /openapi`',
      source: 'Issuance service, Endpoints',
      tests: [['test/e2e/openapi.test.ts', 'of the %s is well-formed OpenAPI 3.1']],
    },
    {
      id: 'issuance-53',
      asks: 'the status list document',
      source: 'Issuance service, Endpoints',
      tests: [[at.status, 'says who, where, since when and how long']],
    },
    {
      id: 'issuance-54',
      asks: 'administrative endpoints require an API key as bearer token',
      source: 'Issuance service, Authentication',
      tests: [[at.httpApiKey, 'decides 401 before anything else about the request']],
    },
    {
      id: 'issuance-55',
      asks: 'the JSON key is the secret; the label is not accepted',
      source: 'Issuance service, Authentication',
      tests: [[at.issuance, 'is the JSON key and not its label, and changes with a restart only']],
    },
    {
      id: 'issuance-56',
      asks: 'read at start-up; adding, removing and revoking take a restart',
      source: 'Issuance service, Authentication',
      tests: [[at.issuance, 'is the JSON key and not its label, and changes with a restart only']],
    },
    {
      id: 'issuance-57',
      asks: 'no expiry, no rate limit per key',
      source: 'Issuance service, Authentication',
      tests: [['test/e2e/rate-limits.test.ts', 'limits nothing unless it is told to, and an API key never']],
    },
    {
      id: 'issuance-58',
      asks: 'missing or unrecognized: 401',
      source: 'Issuance service, Authentication',
      tests: [[at.httpApiKey, 'decides 401 before anything else about the request']],
    },
    {
      id: 'issuance-59',
      asks: 'wallet-facing endpoints need no API key; the session id secures them; the credential request needs the access token',
      source: 'Issuance service, Authentication',
      tests: [
        [at.httpWallet, 'needs no API key, and one does no harm'],
        [at.request, '$attack: invalid_token and without effect (facts 5.5)'],
      ],
    },
    {
      id: 'issuance-60',
      asks: 'recommended: long random keys, one for each application',
      source: 'Issuance service, Authentication',
      tests: [[at.config, 'warns of a short key by its label']],
    },
    {
      id: 'issuance-61',
      asks: "the access token's lifetime is in `expires_in` (300)",
      source: 'Issuance service, Limits',
      tests: [
        [at.issuance, 'gives a token that its published key verifies'],
        [at.request, 'refuses a token that has expired, also when its session has not'],
      ],
    },
    {
      id: 'issuance-62',
      asks: 'proofs must be newly created',
      source: 'Issuance service, Limits',
      tests: [[at.proof, 'takes an iat from 300 seconds ago to 60 seconds ahead, and not a second more']],
    },
    {
      id: 'issuance-63',
      asks: '`sessionCallback` pushes results',
      source: 'Issuance service, Events',
      tests: [
        ['test/interop/callbacks.test.ts', 'tell of an issuance, with a secret that begins with %j'],
        [
          'test/e2e/events.test.ts',
          'between what it answered and the callback, loses none, and what goes out twice has one id',
        ],
      ],
    },
    {
      id: 'issuance-64',
      asks: 'polling the status endpoint is the alternative',
      source: 'Issuance service, Events',
      tests: [[at.issuance, 'tells the application where the session stands']],
    },
  ],
}
