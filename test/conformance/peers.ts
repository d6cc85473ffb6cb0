/** The mistakes that were found in other products of this kind, by their own issues and advisories. */
import { TOKEN_STATUS_LIST } from '../../src/protocol/specifications.ts'
import { at, type Section } from './row.ts'

export const peers: Section = {
  heading: 'What others got wrong',
  file: 'test/conformance/peers.ts',
  about: 'Defects that other issuers and verifiers shipped, from their public issues and advisories.',
  rows: [
    {
      id: 'peers-1',
      asks: 'One bad request ends the whole server',
      source: 'RFC 9110 section 15.6',
      tests: [
        [at.fuzz, 'finds no 5xx, no foreign error body and no write on a refusal in its short form'],
        [at.resources, 'serves on when its log can no longer be written'],
      ],
    },
    {
      id: 'peers-2',
      asks: 'Indices of a status list collide under load, and revoking one credential revokes others',
      source: `${TOKEN_STATUS_LIST}, Issuer`,
      tests: [
        [at.statusProcesses, 'issue three hundred credentials, a hundred at once, all with an entry of their own'],
        [at.status, 'reach the credentials of the session and no others'],
      ],
    },
    {
      id: 'peers-3',
      asks: 'Single use is “check, then write”: parallel requests with one token or nonce get several credentials',
      source: 'OpenID4VCI 1.0, Replay Prevention; Proof Replay',
      tests: [
        [at.token, 'gives one token to 50 redemptions at the same time, and that token works'],
        [at.proof, 'gives one credential to 50 requests with one nonce at the same time'],
        [at.proof, 'gives ten copies to 50 requests with their own nonces at the same time, and no eleventh after'],
        [
          'src/store/store.contract.ts',
          'lets one of 50 batches spend the same nonce, and leaves the others without effect',
        ],
      ],
    },
    {
      id: 'peers-4a',
      asks: 'An empty array counts as a presentation',
      source: 'OpenID4VP 1.0, Response Parameters',
      tests: [
        [at.response, 'The wallet answers with no presentation at all under the right id.'],
        [at.response, 'The wallet sends no presentation where several are welcome.'],
      ],
    },
    {
      id: 'peers-4b',
      asks: 'Missing and foreign ids, null, texts and nested arrays are taken',
      source: 'OpenID4VP 1.0, Response Parameters',
      tests: [
        [at.response, 'The wallet sends the presentation under another id only.'],
        [at.response, 'The wallet presents nothing.'],
        [at.session, 'null for the presentations'],
        [at.session, 'a presentation outside of an array, as in drafts'],
        [at.session, 'an array in the array'],
      ],
    },
    {
      id: 'peers-5',
      asks: '`aud` and `iat` of the key binding go unchecked, or the whole of it, where an option was forgotten',
      source: 'RFC 9901, Verification by the Verifier',
      tests: [
        [at.holder, 'The presentation was made for another verifier, who passes it on.'],
        [at.holder, 'The key binding has no audience.'],
        [at.holder, 'The key binding does not say when it was made.'],
        [at.holder, 'The presentation has no key binding.'],
      ],
    },
    {
      id: 'peers-6a',
      asks: 'The type that was asked for, `values` and `multiple` are not compared',
      source: 'OpenID4VP 1.0, VP Token Validation',
      tests: [
        [at.credential, 'The credential is of another type than was asked for.'],
        [at.credential, 'A claim has another value than was asked for.'],
        [at.response, 'The wallet sends two presentations where one was asked for.'],
      ],
    },
    {
      id: 'peers-6b',
      asks: 'Queries with the same id twice or with unknown formats are stored',
      source: 'OpenID4VP 1.0, Credential Query',
      tests: [
        ['src/protocol/dcql.test.ts', 'all of them at once, up to ten'],
        ['src/verifier/queries.test.ts', 'is refused for all that it lacks'],
      ],
    },
    {
      id: 'peers-7a',
      asks: 'An expired session is completed, and an expired credential presented',
      source: 'OpenID4VP 1.0, VP Token Validation',
      tests: [
        [at.session, 'has expired: 410 for the response, and a request object no more'],
        [at.credential, 'The credential has expired (exp).'],
      ],
    },
    {
      id: 'peers-7b',
      asks: 'A declined session is completed, and a final result overwritten',
      source: 'OpenID4VP 1.0, Response Mode direct_post',
      tests: [
        [at.session, 'does not make up for a refusal'],
        [at.session, 'as %s does not overwrite a success'],
        [at.session, 'has a result that time does not change'],
      ],
    },
    {
      id: 'peers-8',
      asks: 'Who knows a session id reads the result',
      source: 'OpenID4VP 1.0, Protection of the Authorization Response Data',
      tests: [
        [at.session, 'and has %s does not see the result'],
        [at.admin, 'shows no claim of a dataset to somebody without the API key, and none in the log'],
      ],
    },
    {
      id: 'peers-9',
      asks: 'OAuth errors inside the error body of a framework; 400 or 500 for a bad token',
      source: 'RFC 6749 section 5.2; RFC 6750 section 3.1',
      tests: [
        [at.request, '$attack: invalid_token and without effect (facts 5.5)'],
        [at.request, 'answers no token with a challenge that has no error, before it looks at the body'],
        [at.token, '$attack: $error and without effect ($module)'],
      ],
    },
    {
      id: 'peers-10',
      asks: 'Access tokens are signed with whichever key comes first',
      source: 'RFC 7517 section 4.2',
      tests: [
        [at.issuance, 'gives a token that its published key verifies'],
        ['test/e2e/own-keys.test.ts', 'sign status lists, access tokens and metadata, and nothing else'],
        ['test/e2e/key-change.test.ts', 'voids no offer and no token, also without a file of secrets'],
      ],
    },
    {
      id: 'peers-11',
      asks: '`iat` of a key proof goes unchecked, and so does the number of proofs',
      source: 'OpenID4VCI 1.0, Verifying Proof; Credential Request',
      tests: [
        [at.proof, 'an iat a year ago'],
        [at.request, 'two proofs where there are no batches'],
      ],
    },
    {
      id: 'peers-12',
      asks: 'An untrusted credential has the verifier fetch an address of its choice',
      source: `${TOKEN_STATUS_LIST}, Security Considerations`,
      tests: [
        [at.statusFetches, 'nobody, for an issuer that is not trusted, or where nobody is'],
        [at.outbound, 'not to %s'],
      ],
    },
    {
      id: 'peers-13',
      asks: 'Times are rounded to the nearest second, and fresh credentials are not valid yet',
      source: 'RFC 7519 section 4.1.6',
      tests: [
        [at.issuance, 'lasts %i seconds at least, to a grain of %i'],
        [at.oidfIssuer, 'oid4vci-1_0-issuer-happy-flow'],
      ],
    },
    {
      id: 'peers-14',
      asks: 'A write that nobody awaits is lost',
      source: 'OpenID4VP 1.0, Response Mode direct_post',
      tests: [
        [at.process, 'has on disk what it answered, also when it is killed in that moment'],
        [at.process, 'keeps queries and sessions of the verifier over a kill, too'],
      ],
    },
    {
      id: 'peers-15',
      asks: 'Trust is decided on a name, and the signature checked with another key',
      source: 'RFC 8725 section 3.8',
      tests: [
        [at.issuer, 'An attacker signs with a self-signed certificate, and sends the one of the issuer behind it.'],
        [at.issuer, 'The holder signs the credential, and sends the certificate of the issuer with it.'],
      ],
    },
    {
      id: 'peers-16',
      asks: 'A wrong transaction code uses up the pre-authorized code',
      source: 'OpenID4VCI 1.0, Token Error Response',
      tests: [[at.txCode, 'that is wrong ("%s") costs an attempt and not the code']],
    },
    {
      id: 'peers-17',
      asks: 'A small JWE inflates to a large one',
      source: 'RFC 8725 section 3.6',
      tests: [['src/keys/jwe.test.ts', 'that is too large is refused, and so is one that would inflate']],
    },
    {
      id: 'peers-18',
      asks: 'A success is announced of a verification that failed',
      source: 'OpenID4VP 1.0, VP Token Validation',
      tests: [
        ['test/interop/callbacks.test.ts', 'tell of a verification that failed, and never that it succeeded'],
        [
          'test/e2e/events.test.ts',
          'between what it answered and the callback, loses none, and what goes out twice has one id',
        ],
      ],
    },
    {
      id: 'peers-19',
      asks: 'Callbacks without signature, retries or time limit',
      source: 'Standard Webhooks, Signature scheme',
      tests: [
        [
          'test/interop/callbacks.test.ts',
          'that %s gets everything again, in order and signed anew, under the same ids',
        ],
        ['test/interop/callbacks.test.ts', 'that never answers is left after ten seconds'],
        ['src/callback/deliver.test.ts', 'are not held up by one that always fails, nor by one that is slow'],
      ],
    },
    {
      id: 'peers-20',
      asks: 'A look-up reads a whole table',
      source: 'SQLite, EXPLAIN QUERY PLAN',
      tests: [[at.exposure, 'of the %s is searched by an index, never as a whole']],
    },
    {
      id: 'peers-21',
      asks: 'Dozens of statements for one issuance',
      source: 'SQLite, Transactions',
      tests: [[at.exposure, 'asks the database a dozen times for a whole issuance']],
    },
    {
      id: 'peers-22',
      asks: 'Shares that are wrong, mixed or replayed are put together to garbage',
      source: 'A. Shamir, How to Share a Secret',
      tests: [
        ['sdk/client/client.test.ts', 'that does this is named, and not needed: %s'],
        ['sdk/client/shares.test.ts', 'comes back from every set that is large enough, and from none that is not'],
        ['test/attacks/offchain-authentication.test.ts', 'is not when it $attack'],
      ],
    },
    {
      id: 'peers-23',
      asks: 'Every request for the metadata writes a configuration into the log',
      source: 'OpenID4VCI 1.0, Credential Issuer Metadata',
      tests: [
        ['test/e2e/issuer-metadata.test.ts', 'costs no line of the log, at whichever place a wallet asks for it'],
      ],
    },
    {
      id: 'peers-24',
      asks: 'The examples that are shipped trust any issuer',
      source: 'OpenID4VP 1.0, Trust Management',
      tests: [['test/package.test.ts', 'has an example of a verifier that trusts the issuers of a directory alone']],
    },
  ],
}
