/** The security of issuance, item by item. */
import { TOKEN_STATUS_LIST } from '../../src/protocol/specifications.ts'
import { at, type Section } from './row.ts'

export const issuance: Section = {
  heading: 'Security of issuance',
  file: 'test/conformance/issuance.ts',
  about: 'Each threat that RFC 9700, RFC 8725 and the security considerations of OpenID4VCI 1.0 name.',
  rows: [
    {
      id: 'security-1a',
      asks: 'A pre-authorized code has 128 bits or more that nobody can guess, not even from the session id in its address',
      source: 'RFC 6749 section 10.10',
      tests: [
        ['src/issuer/access/derived-code.test.ts', 'has 256 bits that come of the secret, and of no other'],
        [at.token, 'the code without its authenticator'],
      ],
    },
    {
      id: 'security-1b',
      asks: 'A code and a token are not stored as they are',
      source: 'RFC 6819 section 5.1.4.1.3',
      tests: [[at.token, 'stores neither the code nor the token']],
    },
    {
      id: 'security-1c',
      asks: 'A code lives for minutes',
      source: 'OpenID4VCI 1.0, Credential Offer Parameters',
      tests: [
        [at.issuance, 'lasts ten minutes unless told otherwise'],
        [at.token, 'answers 410 for the offer, invalid_grant for the code, and EXPIRED as the status'],
      ],
    },
    {
      id: 'security-1d',
      asks: 'A code is used once; again it is `invalid_grant`',
      source: 'OpenID4VCI 1.0, Credential Offer Parameters; Replay Prevention',
      tests: [[at.token, 'refuses a code that was used, at both endpoints, and the first token stays good']],
    },
    {
      id: 'security-1e',
      asks: 'Of redemptions at the same time, one wins',
      source: 'OpenID4VCI 1.0, Replay Prevention',
      tests: [[at.token, 'gives one token to 50 redemptions at the same time, and that token works']],
    },
    {
      id: 'security-2',
      asks: 'The code of one session is refused at the token endpoint of another',
      source: 'RFC 9700, Mix-Up Attacks',
      tests: [
        [at.token, 'refuses the code of session A at the endpoint of B, and both still work at their own'],
        [at.token, 'refuses a session in the path that does not exist like a code that does not'],
      ],
    },
    {
      id: 'security-3',
      asks: 'A transaction code goes another way than the offer, is stored and logged nowhere, and wrong ones are counted',
      source: 'OpenID4VCI 1.0, Transaction Code Phishing',
      tests: [
        [at.txCode, 'is generated for $txCode, told once, and asked for by the offer'],
        [at.txCode, 'is stored as a MAC of its session, and reaches no log'],
        [at.txCode, 'that is wrong ("%s") costs an attempt and not the code'],
        [
          at.txCode,
          'that is wrong for the fifth time makes the code void: also the right one is refused, and the offer is gone',
        ],
        [at.txCode, 'gives 50 wrong guesses at the same time five looks and not one more'],
      ],
    },
    {
      id: 'security-3b',
      asks: 'A transaction code that was not asked for is `invalid_request`',
      source: 'OpenID4VCI 1.0, Token Error Response',
      tests: [[at.token, 'a tx_code that nobody asked for']],
    },
    {
      id: 'security-3c',
      asks: 'A transaction code that is missing is `invalid_request`, and no attempt',
      source: 'OpenID4VCI 1.0, Token Error Response',
      tests: [[at.txCode, '%s is invalid_request and no attempt']],
    },
    {
      id: 'security-4a',
      asks: 'An offer is gone once it was used or has expired, so that a photograph of it is worth nothing',
      source: 'OpenID4VCI 1.0, Credential Offer',
      tests: [
        [at.token, 'answers 410 for an offer that was used'],
        [at.token, 'answers 410 for the offer, invalid_grant for the code, and EXPIRED as the status'],
      ],
    },
    {
      id: 'security-4b',
      asks: 'A session id cannot be guessed',
      source: 'OpenID4VCI 1.0, Credential Offer',
      tests: [[at.admin, 'starts sessions that do not know each other, with ids of 144 random bits']],
    },
    {
      id: 'security-4c',
      asks: 'A session id, a code, a token, a nonce and a proof reach no log',
      source: 'CWE-532',
      tests: [
        [at.exposure, 'logs no session id, code, token, nonce or proof of an issuance, whether it went well or not'],
      ],
    },
    {
      id: 'security-5a',
      asks: 'An access token lives for 300 seconds at most',
      source: 'OpenID4VCI 1.0, Protecting the Access Token',
      tests: [
        [at.issuance, 'gives a token that its published key verifies'],
        [at.request, 'refuses a token that has expired, also when its session has not'],
      ],
    },
    {
      id: 'security-5b',
      asks: 'A token opens its session and its configurations, and nothing else',
      source: 'RFC 9700, Access Token Privilege Restriction',
      tests: [
        [at.request, 'opens only the session of the token, whatever the proof says'],
        [at.request, 'refuses the configuration of session B to the token of A, which is for another'],
        [at.request, 'a known configuration that is not in the session'],
      ],
    },
    {
      id: 'security-5c',
      asks: 'A token names whom it is for, and that of another issuer is refused',
      source: 'RFC 9068 section 4',
      tests: [
        [at.issuance, 'gives a token that its published key verifies'],
        [at.request, 'refuses a token of another issuer with the same session id'],
      ],
    },
    {
      id: 'security-5d',
      asks: 'A token counts in the Authorization header only',
      source: 'RFC 6750 section 2.3',
      tests: [
        [at.request, 'refuses the token in the query (oid4vci-1_0-issuer-fail-on-access-token-in-query)'],
        [at.request, 'refuses the token in the body'],
      ],
    },
    {
      id: 'security-5e',
      asks: 'An access token opens no administrative endpoint, and an API key issues nothing',
      source: 'RFC 9700, Access Token Privilege Restriction',
      tests: [
        [at.request, 'refuses an access token at administrative endpoints'],
        [at.request, 'an API key'],
      ],
    },
    {
      id: 'security-5-dpop-proof',
      asks: 'A DPoP proof has its type, its algorithm, its key, its address, its method, its time and our nonce',
      source: 'RFC 9449 section 4.3',
      tests: [
        [at.dpop, 'refuses $attack, and the code stays good'],
        [at.dpop, 'refuses $attack, and the token stays good'],
        [at.dpop, 'refuses two proofs, also when both are right'],
      ],
    },
    {
      id: 'security-5-dpop-replay',
      asks: 'A DPoP proof is good once, also when it comes many times at once',
      source: 'RFC 9449 section 11.1',
      tests: [
        [at.dpop, 'refuses a proof that was used, in another session too'],
        [at.dpop, 'lets one of 50 sessions have a token when all come with the same proof'],
        [at.dpop, 'issues once to 20 requests at the same time with the same proof'],
      ],
    },
    {
      id: 'security-5-dpop-bound',
      asks: 'A token that is bound to a key is refused as Bearer and with another key; one that is not, as DPoP',
      source: 'RFC 9449 sections 7.1 and 7.2',
      tests: [
        [at.dpop, 'refuses %s, and the token stays good'],
        [at.dpop, 'refuses a token that is bound to no key when it comes as DPoP, proof or not'],
      ],
    },
    {
      id: 'security-5-refresh',
      asks: 'A refresh token is used once, and one that comes again ends all that came of it',
      source: 'RFC 9700 section 4.14.2',
      tests: [
        [at.refresh, 'ends all that came of it when it comes again after it was shown %s'],
        [at.refresh, 'may be sent again, any number of times, and gets the same successor'],
        [at.refresh, 'leads to one working access token when it is sent 20 times at once, and every answer leads on'],
        [at.refresh, 'stays bound: it takes a proof by the same key, and gives a token bound to it'],
        [at.refresh, 'is not stored, and reaches no log'],
      ],
    },
    {
      id: 'security-6a',
      asks: 'Identifiers are those of the configuration, whatever a request says of its host',
      source: 'RFC 8414 section 3.3; OpenID4VCI 1.0, Credential Issuer Metadata',
      tests: [[at.exposure, 'names itself by its configuration, whatever Host and X-Forwarded-* say']],
    },
    {
      id: 'security-6b',
      asks: 'A token of an external authorization server is verified: issuer, key, audience, expiry, algorithm, `at+jwt`',
      source: 'RFC 9068 section 4; RFC 8725',
      tests: [
        [at.externalToken, 'of another issuer'],
        [at.externalToken, 'signed by another key of the same kid'],
        [at.externalToken, 'for another audience'],
        [at.externalToken, 'that expired 60 s ago'],
        [at.externalToken, 'with alg none and no signature'],
        [at.externalToken, 'with HS256 and the public key as the secret'],
        [at.externalToken, 'that is an ID token'],
        [at.externalToken, 'are fetched again for a new kid, so that a rotation is not noticed'],
      ],
    },
    {
      id: 'security-7a',
      asks: 'A key proof has its own `typ`',
      source: 'OpenID4VCI 1.0, Verifying Proof; RFC 8725 section 3.11',
      tests: [
        [at.proof, 'no typ'],
        [at.proof, 'the typ of any JWT'],
        [at.proof, 'the typ of a key binding'],
      ],
    },
    {
      id: 'security-7b',
      asks: 'Algorithms are on a list; no `none`, no shared secret',
      source: 'RFC 8725 sections 3.1 and 3.2',
      tests: [
        [at.proof, 'alg none and no signature'],
        [at.proof, 'alg none over a good signature'],
        [at.proof, 'HS256 with the public key as the secret'],
      ],
    },
    {
      id: 'security-7c',
      asks: 'A private or symmetric key in the header is refused',
      source: 'OpenID4VCI 1.0, Verifying Proof',
      tests: [
        [at.proof, 'a private key'],
        [at.proof, 'a did:jwk with a private key'],
        [at.proof, 'a symmetric key'],
      ],
    },
    {
      id: 'security-7d',
      asks: 'Exactly one header names the key',
      source: 'OpenID4VCI 1.0, jwt Proof Type',
      tests: [
        [at.proof, 'kid and jwk together'],
        [at.proof, 'no key at all'],
      ],
    },
    {
      id: 'security-7e',
      asks: 'No address in the header is fetched',
      source: 'RFC 8725 section 3.10',
      tests: [
        [at.proof, 'a URL to fetch the key from'],
        [at.proof, 'a URL to fetch a certificate from'],
        [at.proof, 'a did:web, to have it fetched'],
      ],
    },
    {
      id: 'security-7f',
      asks: '`aud` is the credential issuer identifier',
      source: 'OpenID4VCI 1.0, jwt Proof Type',
      tests: [
        [at.proof, 'no aud'],
        [at.proof, 'the aud of another issuer'],
        [at.proof, 'an aud that begins like ours'],
        [at.proof, 'the aud of another session'],
      ],
    },
    {
      id: 'security-7g',
      asks: '`iat` lies in a window: five minutes back, one ahead',
      source: 'OpenID4VCI 1.0, Verifying Proof',
      tests: [
        [at.proof, 'no iat'],
        [at.proof, 'takes an iat from 300 seconds ago to 60 seconds ahead, and not a second more'],
      ],
    },
    {
      id: 'security-7h',
      asks: 'A nonce is used once, also when requests come at the same time',
      source: 'OpenID4VCI 1.0, Proof Replay',
      tests: [
        [at.proof, 'refuses a nonce that was used, also written differently, and stays SUCCEEDED'],
        [at.proof, 'gives one credential to 50 requests with one nonce at the same time'],
      ],
    },
    {
      id: 'security-7i',
      asks: 'A key is a point on its curve',
      source: 'RFC 8725 section 3.4',
      tests: [
        [at.proof, 'a key off the curve'],
        [at.proof, 'the point zero'],
        ['src/keys/jwk.test.ts', 'is ready to verify with when it is a point on the curve, and refused when it is not'],
      ],
    },
    {
      id: 'security-7j',
      asks: 'The signature is by the key of the header',
      source: 'OpenID4VCI 1.0, Verifying Proof',
      tests: [
        [at.proof, 'the signature of another key'],
        [at.proof, 'the header of another key over the signature'],
        [at.proof, 'binds the credential to the key that was proved, and to no other'],
      ],
    },
    {
      id: 'security-7k',
      asks: 'A key attestation is by a maker that is trusted, for the key of the proof, and not for another nonce',
      source: 'OpenID4VCI 1.0, Key Attestation in JWT format',
      tests: [
        [at.oidfIssuer, 'oid4vci-1_0-issuer-fail-invalid-key-attestation-signature'],
        [at.attestation, 'is missing: refused where it is required'],
        [at.attestation, 'has a nonce of somebody else, or one that was used'],
      ],
    },
    {
      id: 'security-code-1',
      asks: 'PKCE is a must, with `S256` alone, and a code is for its verifier',
      source: 'RFC 7636 section 4.6; RFC 9700 section 2.1.1',
      tests: [
        [at.code, 'leaves PKCE out'],
        [at.code, 'downgrades PKCE to plain'],
        [at.code, 'into the session of another verifier'],
        [at.code, 'sends the challenge in the place of the verifier, as with a plain one'],
      ],
    },
    {
      id: 'security-code-2',
      asks: 'An authorization code is good once and for a minute; a second use ends what the first gave',
      source: 'RFC 6749 section 4.1.2; RFC 9700 section 4.5',
      tests: [
        [at.code, 'comes a second time, and ends what it gave'],
        [at.code, 'comes twenty times at once, and leaves no token that is good'],
        [at.code, 'comes after a minute'],
      ],
    },
    {
      id: 'security-code-3',
      asks: 'A pushed request is for its client, good once and for a minute, and nothing beside it counts',
      source: 'RFC 9126 section 4; RFC 9126 section 7',
      tests: [
        [at.code, 'brings the request of another client'],
        [at.code, 'brings it twice, one after the other and twenty times at once'],
        [at.code, 'brings it after a minute'],
        [at.code, 'another redirect URI'],
      ],
    },
    {
      id: 'security-code-4',
      asks: 'Redirect URIs are compared whole, and no link to the authorization endpoint sends people elsewhere',
      source: 'RFC 9700 section 4.1; RFC 9700 section 4.11.2; RFC 8252 section 7',
      tests: [
        [at.code, 'plain http to a name of this machine'],
        [at.code, 'with another redirect URI'],
        [at.code, 'is sent nowhere by a link alone, only to the page of the operator'],
      ],
    },
    {
      id: 'security-code-5',
      asks: 'A response names its issuer, and what was pushed to one issuer is not taken by another',
      source: 'RFC 9207 section 2.4; RFC 9700 section 4.4',
      tests: [
        [at.code, 'mixes two issuers up: what was pushed to one is brought to another'],
        [
          'test/e2e/authorization-code.test.ts',
          'names the issuer of the session where its endpoints have the session in their path',
        ],
      ],
    },
    {
      id: 'security-code-6',
      asks: 'Nobody finishes in one browser what was begun in another',
      source: 'RFC 9700 section 4.7; RFC 6819 section 4.4.1.8',
      tests: [
        [at.code, 'lures a person into its own authorization, and gets no code'],
        [at.code, 'has the cookie and not the secret'],
      ],
    },
    {
      id: 'security-code-7',
      asks: 'Codes are bound to the client, its instance and its key, refresh tokens to the client and its instance or key',
      source:
        'RFC 9449 section 10; RFC 6749 section 6; OpenID4VC High Assurance Interoperability Profile 1.0, Wallet Attestation',
      tests: [
        [at.code, 'is bound to a key, and comes with another or with none'],
        [at.code, 'has stolen a refresh token: it is bound to the client and to the key'],
        [at.codeClient, 'redeems it by another instance of the same wallet, and by none'],
      ],
    },
    {
      id: 'security-code-8',
      asks: 'An `issuer_state` cannot be guessed, and the data of one person reaches no other',
      source: 'OpenID4VCI 1.0, Authorization Request',
      tests: [
        [at.code, 'guesses its issuer_state'],
        [at.code, 'gets the data of another person who answered the same offer'],
      ],
    },
    {
      id: 'security-8a',
      asks: 'A nonce of another session, a changed one and an expired one are refused',
      source: 'OpenID4VCI 1.0, Nonce Endpoint; Proof Replay',
      tests: [
        [at.proof, 'refuses a nonce of another session, and leaves it to that session'],
        [at.proof, 'a nonce that says it lasts longer'],
        [at.proof, 'refuses a nonce that has expired, to a token that has not'],
      ],
    },
    {
      id: 'security-8b',
      asks: 'Asking for nonces costs no storage',
      source: 'OpenID4VCI 1.0, Nonce Endpoint',
      tests: [[at.exposure, 'makes nonces without storing anything']],
    },
    {
      id: 'security-9a',
      asks: 'Encryption of a response that the service cannot or must not give is `invalid_encryption_parameters`',
      source: 'OpenID4VCI 1.0, Credential Error Response',
      tests: [
        [at.oidfIssuer, 'oid4vci-1_0-issuer-fail-unsupported-encryption-algorithm'],
        [
          'test/attacks/issuer-encryption.test.ts',
          'in the clear that wants an encrypted answer: refused without effect',
        ],
      ],
    },
    {
      id: 'security-9b',
      asks: 'A transaction id is bound to its token and key',
      source: 'OpenID4VCI 1.0, Deferred Credential Endpoint',
      tests: [
        [at.deferred, 'with a transaction id %s: refused without effect'],
        [at.deferred, 'without the token of the session is refused without effect'],
        [at.deferred, 'gives a batch to the keys that were proved when it was asked for'],
      ],
    },
    {
      id: 'security-10a',
      asks: 'A dataset cannot set a member of the protocol',
      source: 'RFC 9901, Verification of the SD-JWT',
      tests: [
        [at.admin, 'a claim named _sd'],
        [at.admin, '_sd inside an object'],
        [at.admin, '... inside an array'],
        [at.admin, 'issues claims named like registered ones inside the subject, and like members of every object'],
      ],
    },
    {
      id: 'security-10b',
      asks: 'A dataset cannot reach the prototype of an object',
      source: 'ECMA-262, Object.prototype.__proto__',
      tests: [
        [at.admin, '__proto__ in the subject'],
        [at.admin, '__proto__ written with escapes'],
        [at.httpBody, 'has no prototype to pollute'],
      ],
    },
    {
      id: 'security-11',
      asks: 'Revocation is for API keys, and indices are neither guessed nor given twice',
      source: `${TOKEN_STATUS_LIST}, Security Considerations`,
      tests: [
        [at.status, 'are for API keys only'],
        [at.status, 'are harmless when repeated: nothing changes, and nothing is recorded twice'],
        [at.status, 'lie where nobody can tell from their neighbours'],
        [at.statusProcesses, 'give out every index of a list once, from the first to the last'],
      ],
    },
  ],
}
