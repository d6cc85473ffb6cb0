/** The modules of the OpenID Foundation's conformance suite. */
import { TOKEN_STATUS_LIST } from '../../src/protocol/specifications.ts'
import { at, type Row, type Section } from './row.ts'
import { fapiModules } from './suite-fapi.ts'

const METADATA = 'OpenID4VCI 1.0, Credential Issuer Metadata; RFC 8414'
const ERROR = 'OpenID4VCI 1.0, Credential Error Response'
const BINDING = 'RFC 9901, Verification by the Verifier; OpenID4VP 1.0, Preventing Replay'

/** Makes the row of a module that the test of its name plays. */
function issuerModule(name: string, asks: string, source: string, more: Row['tests'] = []): Row {
  const id = `oid4vci-1_0-issuer-${name}`
  return { id, asks, source, tests: [[at.oidfIssuer, id], ...more] }
}

/** Makes the row of a module that pushes a request with something wrong about its wallet attestation. */
function attestationModule(name: string, asks: string, attack: string): Row {
  const id = `oid4vci-1_0-issuer-fail-${name}`
  const source = 'OAuth 2.0 Attestation-Based Client Authentication'
  const tests = [[at.oidfIssuerHaip, id] as const, [at.walletAttestation, attack] as const]
  return { id, asks: `${asks}, at the endpoint for pushed requests and at the token endpoint`, source, tests }
}

function verifierModule(name: string, asks: string, source: string, more: Row['tests'] = []): Row {
  const id = `oid4vp-1final-verifier-${name}`
  return { id, asks, source, tests: [[at.oidfVerifier, id], ...more] }
}

export const issuerModules: Section = {
  heading: 'The OpenID Foundation’s suite for issuers',
  file: 'test/conformance/suite.ts',
  about: `Plans \`oid4vci-1_0-issuer-test-plan\` and \`oid4vci-1_0-issuer-haip-test-plan\`. Each module is played by a test of its name: with the
pre-authorized code in every format, and by HAIP with pushed requests, wallet attestation and DPoP in \`dc+sd-jwt\` and \`mso_mdoc\`, against
the session's identifier and the base one. The plan by HAIP has forty modules of FAPI 2.0 as well. To be certified, set
\`"profile": "haip"\` ([how](how-to/haip.md)) and \`issuer.identifier: "base"\`.
With the pre-authorized code the suite wants
\`authorization_endpoint\` in the metadata, which RFC 8414 section 2 asks for only where a grant type uses it; the setting \`authentication\`
brings it. The plan without HAIP looks for the key of a status list as \`jwk\` in the list's header, which has \`x5c\` here: declare
\`"revocable": false\` for the SD-JWT VCs of that plan. It warns of certificates for \`mso_mdoc\` that are not as
[ISO/IEC 18013-5 wants them](operating.md#certificates-for-mobile-documents), as those of \`init\` are not.`,
  rows: [
    issuerModule('metadata-test', 'The documents of issuer and authorization server, member by member', METADATA),
    issuerModule('metadata-test-signed', 'The same, signed, where a wallet asks for `application/jwt`', METADATA),
    issuerModule(
      'happy-flow',
      'The whole flow, with members nobody knows in each request; entropy of token and nonce; the credential and its status',
      'OpenID4VCI 1.0, Pre-Authorized Code Flow; Credential Response',
      [[at.oidfIssuer, 'with a token that is bound to a key, the happy flow']],
    ),
    issuerModule(
      'happy-flow-additional-requests',
      'Further requests with the same token and other Accept headers. TLS is that of the reverse proxy',
      'OpenID4VCI 1.0, Credential Endpoint',
    ),
    issuerModule(
      'happy-flow-multiple-clients',
      'Two offers at one issuer, or one that two wallets answer; the times in two credentials cannot be linked',
      'RFC 9901, Unlinkability',
      [[at.haip, 'may be of no session and have no issuer_state: each wallet that answers it gets a session']],
    ),
    issuerModule(
      'happy-flow-skip-notification',
      'A wallet that tells nothing afterwards',
      'OpenID4VCI 1.0, Notification Endpoint',
    ),
    issuerModule(
      'batch-issuance',
      'Distinct keys, salts and status indices in a batch, and times that tell nothing',
      'OpenID4VCI 1.0, Batch Credential Issuance',
      [[at.batch, 'has a credential for each key, in the order of the proofs, which tell nothing of each other']],
    ),
    issuerModule('fail-invalid-nonce', 'A random nonce is `invalid_nonce`', ERROR, [[at.proof, 'a random nonce']]),
    issuerModule('fail-invalid-jwt-proof-signature', 'Another signature is `invalid_proof`', ERROR),
    issuerModule('fail-missing-proof', 'No proof is `invalid_proof`', ERROR, [[at.request, 'no proof']]),
    issuerModule(
      'fail-invalid-key-attestation-signature',
      'A key attestation with another signature is `invalid_proof`, where one is required',
      ERROR,
    ),
    issuerModule('fail-unknown-credential-configuration', 'That code, before anything about the token’s scope', ERROR, [
      [at.request, 'an unknown configuration id and no proof'],
    ]),
    issuerModule('fail-unknown-credential-identifier', 'That code, although no identifiers were given', ERROR),
    issuerModule('fail-unsupported-encryption-algorithm', '`invalid_encryption_parameters`', ERROR),
    issuerModule('fail-on-access-token-in-query', 'A token in the query is not looked at', 'RFC 6750 section 2.3'),
    attestationModule(
      'invalid-client-attestation-signature',
      'A signature by another key',
      'a signature by another key',
    ),
    attestationModule(
      'invalid-client-attestation-pop-signature',
      'A proof of possession by another key',
      'a proof by another key that brings that key along',
    ),
    attestationModule('client-attestation-exp-in-past', '`exp` in the past', 'an attestation that has expired'),
    attestationModule('client-attestation-no-sub', 'No `sub`', 'no sub'),
    attestationModule('client-attestation-pop-wrong-aud', 'Another `aud`', 'a proof for another issuer'),
    attestationModule(
      'mismatched-client-attestation-pop-key',
      'An attestation of another key than that of the proof',
      'the attestation of another instance, and a proof by the own key',
    ),
    {
      id: 'oid4vci-1_0-issuer-haip-test-plan',
      asks: 'The modules above with client attestation, DPoP and the authorization code, started by the wallet and by the issuer: each is played so as well',
      source: 'OpenID4VC High Assurance Interoperability Profile 1.0, OpenID for Verifiable Credential Issuance',
      tests: [[at.oidfIssuer, '$format from an issuer known by its $identifier, $by']],
    },
    ...fapiModules,
  ],
}

export const verifierModules: Section = {
  heading: 'The OpenID Foundation’s suite for verifiers',
  file: 'test/conformance/suite.ts',
  about: `Plan \`oid4vp-1final-verifier-test-plan\` with \`x509_hash\` and signed requests. Each module is played by a test of its
name, in every format, by \`direct_post\` and \`direct_post.jwt\`. To be certified, ask for \`dc+sd-jwt\` or \`mso_mdoc\`, and start sessions with \`redirect_uri\` and \`request_uri_method\`
([verifying.md](verifying.md)), which its modules follow. Give the verifier \`issuerTrustAnchors\` too, since the newest modules want a revoked
credential refused, and a verifier without anchors asks for no status list: for \`mso_mdoc\` the suite's own CA (\`/mdoc-iaca-root.pem\` of the
suite; the certificates below it change daily), for \`dc+sd-jwt\` the certificate of the signing JWK in the test's configuration.`,
  rows: [
    verifierModule(
      'happy-flow',
      'The request object, its entropy, query and metadata; the answer to a good response',
      'OpenID4VP 1.0, Authorization Request; Response Mode direct_post',
      [[at.session, 'oid4vp-1final-verifier-happy-flow, with parameters nobody knows']],
    ),
    verifierModule('minimal-cnf-jwk', 'A key with nothing but what it needs is taken', 'RFC 7800 section 3.2', [
      [at.session, 'oid4vp-1final-verifier-minimal-cnf-jwk, and one with all that a key may say of itself'],
    ]),
    verifierModule(
      'request-uri-method-post',
      '`wallet_nonce` comes back, where the application asked for POST',
      'OpenID4VP 1.0, Request URI Method post',
    ),
    verifierModule(
      'request-uri-fetched-twice',
      'The request can be fetched again',
      'OpenID4VP 1.0, Authorization Request',
      [[at.session, 'oid4vp-1final-verifier-request-uri-fetched-twice']],
    ),
    verifierModule(
      'invalid-session-transcript',
      'An mdoc that was signed for another nonce, client or address is refused',
      'OpenID4VP 1.0, Handover and SessionTranscript Definitions',
    ),
    verifierModule('invalid-kb-jwt-signature', 'Another signature of the key binding is refused', BINDING, [
      [at.holder, 'The signature of the key binding has one bit changed.'],
    ]),
    verifierModule('invalid-credential-signature', 'Another signature of the credential is refused', BINDING, [
      [at.issuer, 'The signature of the credential has one bit changed.'],
    ]),
    verifierModule('invalid-sd-hash', 'A key binding for other disclosures is refused', BINDING, [
      [at.holder, 'The key binding was made for another credential.'],
    ]),
    verifierModule('invalid-kb-jwt-nonce', 'Another nonce is refused', BINDING, [
      [at.holder, 'The nonce of the key binding is another one.'],
    ]),
    verifierModule('invalid-kb-jwt-aud', 'Another audience is refused', BINDING, [
      [at.holder, 'The presentation was made for another verifier, who passes it on.'],
    ]),
    verifierModule('kb-jwt-iat-in-past', 'A key binding of a year ago is refused', BINDING, [
      [at.holder, 'The key binding is a year old.'],
    ]),
    verifierModule('kb-jwt-iat-in-future', 'A key binding of next year is refused', BINDING, [
      [at.holder, 'The key binding is from next year.'],
    ]),
    verifierModule(
      'present-credential-without-status',
      'A credential that names no status list is taken',
      `${TOKEN_STATUS_LIST}, Referenced Token`,
    ),
    verifierModule(
      'present-revoked-credential',
      'A credential whose status list says that it is revoked is refused',
      `${TOKEN_STATUS_LIST}, Validation Rules; ISO/IEC 18013-5, second edition, 12.3.6`,
      [[at.statusLists, '%i of %i bits']],
    ),
    {
      id: 'oid4vp-1final-verifier-present-credential-on-identifier-list',
      asks: 'An mdoc that is on the identifier list it names is refused',
      source: 'ISO/IEC 18013-5, second edition, 12.3.6.4',
      tests: [['test/attacks/verifier-identifier-list.test.ts', 'names the mdocs that are revoked']],
    },
    {
      id: 'oid4vp-1final-verifier-haip-test-plan',
      asks: 'The same modules with encrypted responses in every format: each is played with `profile` as well',
      source: 'OpenID4VC High Assurance Interoperability Profile 1.0, OpenID for Verifiable Presentations',
      tests: [[at.oidfVerifier, '$format by $mode']],
    },
  ],
}
