/** The security of presentations, item by item, and what holds of both services. */
import { SD_JWT_VC, TOKEN_STATUS_LIST } from '../../src/protocol/specifications.ts'
import { at, type Section } from './row.ts'

export const presentation: Section = {
  heading: 'Security of presentations',
  file: 'test/conformance/presentation.ts',
  about: 'Each threat that RFC 9700, RFC 9901 and the security considerations of OpenID4VP 1.0 name.',
  rows: [
    {
      id: 'security-12a',
      asks: 'A nonce is fresh for each request, and every presentation has it',
      source: 'OpenID4VP 1.0, Preventing Replay',
      tests: [
        [at.oidfVerifier, 'oid4vp-1final-verifier-happy-flow'],
        [at.holder, 'The nonce of the key binding is another one.'],
        [at.holder, 'The presentation was made for another session with the same verifier.'],
      ],
    },
    {
      id: 'security-12b',
      asks: 'A session takes one response, whatever became of it',
      source: 'OpenID4VP 1.0, Preventing Replay',
      tests: [
        [at.session, 'is refused, and the result stays what it was'],
        [at.session, 'does not make up for one that failed'],
        [at.session, 'does not make up for a refusal'],
      ],
    },
    {
      id: 'security-12c',
      asks: 'Of responses at the same time, one counts',
      source: 'OpenID4VP 1.0, Preventing Replay',
      tests: [
        [at.session, 'fifty times at once is taken once'],
        [at.session, 'good and bad at once has the result of the one that was first'],
        [at.session, 'by both ways at once is taken by one of them'],
      ],
    },
    {
      id: 'security-13a',
      asks: '`aud` is the whole client id, with its prefix',
      source: 'OpenID4VP 1.0, Preventing Replay',
      tests: [
        [at.holder, 'The presentation was made for another verifier, who passes it on.'],
        [at.holder, 'The audience is the hash without its prefix.'],
        [at.holder, 'The audience is the right hash under another prefix.'],
      ],
    },
    {
      id: 'security-13b',
      asks: 'A `state` that is sent is the one of the request',
      source: 'OpenID4VP 1.0, Response Parameters',
      tests: [
        [at.session, 'the state of another session'],
        [
          'src/verifier/authorization-response.test.ts',
          'but not without a state, which is then all that ties it to the session',
        ],
      ],
    },
    {
      id: 'security-13c',
      asks: 'A response comes to the endpoint of its response mode',
      source: 'OpenID4VP 1.0, Encrypted Responses',
      tests: [
        [at.encrypted, 'each endpoint serves its own mode only'],
        [at.encrypted, 'and a session in the clear, where nobody asks for an mdoc, takes nothing encrypted'],
      ],
    },
    {
      id: 'security-13d',
      asks: 'A response through the browser is for the origin of the page, and one of a link for the client id',
      source: 'OpenID4VP 1.0, Response (Digital Credentials API); Invocation via the Digital Credentials API',
      tests: [
        [at.digitalCredentials, 'A page of another origin passed the request on, and the response back.'],
        [at.digitalCredentials, 'A presentation for the link of the same session is posted by the page.'],
        [at.digitalCredentials, 'A presentation for the page is posted as a response of the link.'],
      ],
    },
    {
      id: 'security-13e',
      asks: 'A request for the browser has the parameters of its kind: `expected_origins` where it is signed, no `client_id` where it is not, no `state`',
      source: 'OpenID4VP 1.0, Request (Digital Credentials API); Signed and Unsigned Requests',
      tests: [[at.digitalCredentialsRequest, 'signed and unsigned, with what such requests have and nothing else']],
    },
    {
      id: 'security-13f',
      asks: 'A response through the browser is encrypted, and names a protocol of the request',
      source:
        'OpenID4VC High Assurance Interoperability Profile 1.0, OpenID for Verifiable Presentations over W3C Digital Credentials API',
      tests: [
        [at.digitalCredentials, 'an unencrypted vp_token'],
        [at.digitalCredentials, 'a protocol that was not offered'],
      ],
    },
    {
      id: 'security-13g',
      asks: 'An mdoc is asked for through the browser with `intent_to_retain`',
      source:
        'OpenID4VC High Assurance Interoperability Profile 1.0, OpenID for Verifiable Presentations over W3C Digital Credentials API',
      tests: [
        [
          at.digitalCredentialsRequest,
          'a session with an origin needs intent_to_retain for every element of an mdoc, and a link does not',
        ],
      ],
    },
    {
      id: 'security-13h',
      asks: 'A response by org-iso-mdoc is for the origin of the page, and for the session whose request it answers',
      source: 'ISO/IEC TS 18013-7 Annex C',
      tests: [
        [at.isoMdoc, 'The document was signed for %s.'],
        [at.isoMdoc, 'A document for org-iso-mdoc is sent by OpenID4VP through the browser, or by the link.'],
        [at.isoMdoc, 'it is encrypted for a page of another origin, which passed it on'],
      ],
    },
    {
      id: 'security-14a',
      asks: 'Who knows the session id sees no result',
      source: 'OpenID4VP 1.0, Protection of the Authorization Response Data',
      tests: [
        [at.session, 'and has %s does not see the result'],
        [at.session, 'and sends the session id as the key does not see it either'],
      ],
    },
    {
      id: 'security-14b',
      asks: 'A response to another session fails, in the clear and encrypted',
      source: 'OpenID4VP 1.0, Session Fixation; Encrypted Responses',
      tests: [
        [at.session, 'in another session of the same query fails there'],
        [at.encrypted, 'a response to another session of the same query cannot be read, and is not for it'],
      ],
    },
    {
      id: 'security-14c',
      asks: 'Each session has its own key to encrypt to, which is forgotten with it',
      source: 'OpenID4VC High Assurance Interoperability Profile 1.0, OpenID for Verifiable Presentations',
      tests: [
        [at.encrypted, 'is the same at every request, and of no other session'],
        [at.encrypted, 'is forgotten when the session is over, whatever its end, and never logged'],
      ],
    },
    {
      id: 'security-15a',
      asks: 'A session ends soon, and then takes no response',
      source: 'OpenID4VP 1.0, Session Fixation',
      tests: [
        [at.session, 'has expired: 410 for the response, and a request object no more'],
        [at.session, 'is still open in its last second'],
      ],
    },
    {
      id: 'security-15b',
      asks: 'On one device the result is for whoever brings back the code that the wallet was given',
      source: 'OpenID4VP 1.0, Session Fixation; Response Mode direct_post',
      tests: [
        [at.sameDevice, 'comes with a code that nobody else has, and the result is for whoever brings it'],
        [at.sameDevice, 'and a code that is guessed shows what none shows'],
      ],
    },
    {
      id: 'security-16a',
      asks: 'A JWE has an algorithm of ours and a key on its curve',
      source: 'OpenID4VP 1.0, Encrypted Responses; RFC 8725 section 3.2',
      tests: [
        [at.encrypted, 'with $attack is refused, and leaves the session open'],
        ['src/keys/jwe.test.ts', 'that is damaged anywhere is refused and nothing else happens'],
        ['src/keys/jwe.test.ts', 'to a key of somebody else under our kid is refused'],
      ],
    },
    {
      id: 'security-16b',
      asks: 'A JWE is bounded, also when it inflates',
      source: 'RFC 8725 section 3.6; RFC 7516 section 4.1.3',
      tests: [['src/keys/jwe.test.ts', 'that is too large is refused, and so is one that would inflate']],
    },
    {
      id: 'security-17a',
      asks: 'A disclosure nobody refers to is refused, and one that is sent twice',
      source: 'RFC 9901, Verification of the SD-JWT',
      tests: [
        [at.disclosures, 'The holder adds a claim of which the issuer knows nothing.'],
        [at.disclosures, 'The holder changes the value of a disclosed claim.'],
        [at.disclosures, 'A disclosure is sent twice.'],
      ],
    },
    {
      id: 'security-17b',
      asks: 'A digest occurs once in the whole credential',
      source: 'RFC 9901, Verification of the SD-JWT',
      tests: [
        [at.disclosures, 'A digest occurs twice in one object.'],
        [at.disclosures, 'A digest occurs at two levels.'],
        [at.disclosures, 'A digest for which there is no disclosure occurs twice.'],
      ],
    },
    {
      id: 'security-17c',
      asks: 'A disclosure overwrites nothing, is not named `_sd` or `...`, and fits its place',
      source: 'RFC 9901, Verification of the SD-JWT',
      tests: [
        [at.disclosures, 'A disclosure overwrites the issuer (iss).'],
        [at.disclosures, 'A disclosure overwrites the key of the holder (cnf).'],
        [at.disclosures, 'A disclosure is for a claim named _sd.'],
        [at.disclosures, 'A disclosure for an element of an array stands for a member of an object.'],
      ],
    },
    {
      id: 'security-17d',
      asks: 'The hash of disclosures is one we know',
      source: 'RFC 9901, Verification of the SD-JWT',
      tests: [[at.disclosures, 'The hash of the disclosures is unknown.']],
    },
    {
      id: 'security-17e',
      asks: 'What must be signed in the clear is not left to the holder to show',
      source: `RFC 9901, Selectively Disclosable Validity Claims; ${SD_JWT_VC}, Registered JWT Claims`,
      // biome-ignore lint/suspicious/noTemplateCurlyInString: the title as it stands in the source
      tests: [[at.disclosures, 'The issuer left it to the holder to show ${name}.']],
    },
    {
      id: 'security-17f',
      asks: 'Whether a key binding is needed is decided by us, not by its presence',
      source: 'RFC 9901, Verification by the Verifier',
      tests: [
        [at.holder, 'The presentation has no key binding.'],
        ['src/verifier/authorization-response.test.ts', 'with a key binding all the same, which is not looked at'],
      ],
    },
    {
      id: 'security-17g',
      asks: 'A JWT of one kind does not pass as another',
      source: 'RFC 8725 sections 3.11 and 3.12',
      tests: [
        [at.verifier, 'is not accepted: %s, as it is or with a tilde'],
        [at.holder, 'The key binding has the type of a key proof, which wallets sign for any issuer that asks.'],
        [at.proof, 'a credential of ours in place of a proof'],
        [at.proof, 'the access token in place of a proof'],
      ],
    },
    {
      id: 'security-18a',
      asks: 'A certificate counts when it leads to an anchor; that it was sent proves nothing',
      source: 'RFC 5280 section 6; OpenID4VP 1.0, VP Token Validation',
      tests: [
        [at.issuer, 'An attacker signs, with a self-signed certificate that says what that of the issuer says.'],
        [at.issuer, 'An attacker signs, with a certificate by a CA that bears the name of the anchor.'],
        ['src/keys/trust-path.test.ts', 'when the names are right and a signature is not'],
      ],
    },
    {
      id: 'security-18b',
      asks: 'A certificate is valid now, and so is every one above it',
      source: 'RFC 5280 section 6.1.3',
      tests: [
        [at.issuer, 'The certificate has expired.'],
        [at.issuer, 'The CA between issuer and anchor has expired.'],
      ],
    },
    {
      id: 'security-18c',
      asks: 'Only a CA that may sign certificates does, to the depth it allows',
      source: 'RFC 5280 section 6.1.4',
      tests: [
        [at.issuer, 'An issuer that is trusted, but is not a CA, certifies another key for its name.'],
        [at.issuer, 'The CA between issuer and anchor may not sign certificates.'],
        ['src/keys/trust-path.test.ts', 'when there are more CAs than the path length allows'],
      ],
    },
    {
      id: 'security-18d',
      asks: 'A critical extension that we do not process is refused',
      source: 'RFC 5280 section 4.2',
      tests: [['src/keys/certificate.test.ts', 'must have no critical extension that is not processed']],
    },
    {
      id: 'security-18e',
      asks: 'The key is of the kind of the algorithm, and `jwk` in a header is not believed',
      source: 'RFC 8725 section 3.1',
      tests: [
        [at.issuer, 'An attacker signs, and the header has the key (jwk) in place of a certificate.'],
        [at.issuer, 'The header says ES384 and the signature is ES256.'],
      ],
    },
    {
      id: 'security-19a',
      asks: '`iss` and `issuer` agree, and who issued the credential is told by its certificate alone',
      source: `${SD_JWT_VC}, Issuer Signature Mechanisms; VC-JOSE-COSE`,
      tests: [
        [at.issuer, 'The members iss and issuer differ.'],
        ['test/attacks/verifier-issuer-name.test.ts', 'stands apart from the certificate in %s'],
      ],
    },
    {
      id: 'security-19b',
      asks: 'Without anchors the service warns, and reports say that nobody was trusted',
      source: 'OpenID4VP 1.0, VP Token Validation',
      tests: [
        ['src/issuer/config.test.ts', 'warns when it trusts nobody'],
        [
          'src/verifier/authorization-response.test.ts',
          'verifies anybody who signs well, says so, and asks for no status',
        ],
      ],
    },
    {
      id: 'security-20a',
      asks: 'The verifier asks its own query again: claims, values, types',
      source: 'OpenID4VP 1.0, VP Token Validation',
      tests: [
        [at.credential, 'A claim that was asked for is not disclosed.'],
        [at.credential, 'A claim has another value than was asked for.'],
        [at.credential, 'The credential is of another type than was asked for.'],
      ],
    },
    {
      id: 'security-20b',
      asks: 'Every query that must be answered is, and nothing else is sent',
      source: 'OpenID4VP 1.0, Selecting Credentials',
      tests: [
        [at.response, 'The wallet answers one of two credential queries.'],
        [at.response, 'The wallet sends a presentation under an id that was not asked for, beside the right one.'],
      ],
    },
    {
      id: 'security-20c',
      asks: '`multiple` is respected',
      source: 'OpenID4VP 1.0, Credential Query',
      tests: [
        [at.response, 'The wallet sends two presentations where one was asked for.'],
        ['src/verifier/authorization-response.test.ts', 'with several credentials, where several are welcome'],
      ],
    },
    {
      id: 'security-20d',
      asks: 'One credential may answer two queries',
      source: 'OpenID4VP 1.0, Selecting Credentials',
      tests: [['src/verifier/authorization-response.test.ts', 'with one credential for two queries']],
    },
    {
      id: 'security-21a',
      asks: 'Every element of an mdoc has the digest that the issuer signed',
      source: 'ISO/IEC 18013-5 section 9.3.1',
      tests: [
        [at.mdocDocument, 'The holder changes the value of an element.'],
        [at.mdocDocument, 'The holder adds an element of which the issuer knows nothing.'],
        [at.mdocDocument, 'A digest is shortened.'],
      ],
    },
    {
      id: 'security-21b',
      asks: 'The device signed this session: nonce, client, address, and key of the response',
      source: 'OpenID4VP 1.0, Handover and SessionTranscript Definitions; ISO/IEC 18013-5 section 9.1.3',
      tests: [
        [at.oidfVerifier, 'oid4vp-1final-verifier-invalid-session-transcript'],
        [at.mdocHolder, 'The device signed for another nonce.'],
        [at.mdocHolder, 'The device signed for a response that is encrypted to another key.'],
      ],
    },
    {
      id: 'security-21c',
      asks: 'The document is of the type that the issuer signed, and that was asked for',
      source: 'ISO/IEC 18013-5 section 9.3.1',
      tests: [
        [at.mdocDocument, 'The document states another type than the issuer signed.'],
        [at.mdocDocument, 'The mobile document is of another type than was asked for.'],
      ],
    },
    {
      id: 'security-21d',
      asks: 'The mobile document is valid now',
      source: 'ISO/IEC 18013-5 section 9.3.1',
      tests: [
        [at.mdocDocument, 'The mobile document has expired.'],
        [at.mdocDocument, 'The mobile document is not valid yet.'],
      ],
    },
    {
      id: 'security-21e',
      asks: 'An element comes once',
      source: 'ISO/IEC 18013-5 section 9.3.1',
      tests: [
        [at.mdocDocument, 'An element is sent twice.'],
        [at.mdocDocument, 'The value of an element has a key twice.'],
      ],
    },
    {
      id: 'security-21f',
      asks: 'CBOR has limits, and one text for one value',
      source: 'RFC 8949 section 4.2; RFC 8949 section 10',
      tests: [
        [at.mdocDocument, 'The DeviceResponse is nested deeper than a stack is.'],
        [at.mdocDocument, 'The DeviceResponse is an array of more elements than there is memory.'],
        [at.mdocDocument, 'The value of an element is a number that is longer than it need be.'],
      ],
    },
    {
      id: 'security-21g',
      asks: 'A digest is over the element as it was sent, with its tag',
      source: 'ISO/IEC 18013-5 section 9.3.1',
      tests: [
        [at.mdocDocument, 'A digest is taken over the element without its tag.'],
        [at.mdocDocument, 'An element is not embedded CBOR.'],
      ],
    },
    {
      id: 'security-21h',
      asks: 'The device states no element that the issuer did not authorize',
      source: 'ISO/IEC 18013-5 section 9.1.2.4',
      tests: [[at.mdocHolder, 'The device states an element that the issuer did not authorize.']],
    },
    {
      id: 'security-22a',
      asks: 'A status is fetched from nowhere private, without redirects, within bounds',
      source: `${TOKEN_STATUS_LIST}, Security Considerations`,
      tests: [
        [at.outbound, 'not to a name at %s'],
        [at.outbound, 'to the address that was looked at, not to what the name means a moment later'],
        [at.outbound, 'does not follow a redirect'],
        [at.outbound, 'a gigabyte that came as a megabyte is not unpacked'],
        [at.statusFetches, 'is asked for a bounded time and size, and never inside our network but by permission'],
        [at.statusLists, 'of a gigabyte'],
      ],
    },
    {
      id: 'security-22b',
      asks: 'A status that cannot be known does not pass',
      source: `${TOKEN_STATUS_LIST}, Validation Rules`,
      tests: [
        [at.credential, 'The credential names a status list that nobody serves.'],
        [at.statusFetches, 'a credential is refused'],
        [at.statusLists, 'not %s'],
      ],
    },
    {
      id: 'security-23',
      asks: 'Callbacks go where the configuration says, signed, bounded, and without secrets in logs',
      source: 'OWASP API Security Top 10 2023, API7',
      tests: [
        ['src/config/session-callback.test.ts', 'may not be %j'],
        ['test/interop/callbacks.test.ts', 'tell of an issuance, with a secret that begins with %j'],
        [
          'src/callback/deliver.test.ts',
          'is given up after 24 hours, kept, and told by the log; a retry lets it wait again',
        ],
      ],
    },
    {
      id: 'security-24',
      asks: 'Nothing that was sent comes back as a page',
      source: 'WHATWG Fetch, X-Content-Type-Options',
      tests: [[at.exposure, 'answers markup with JSON that no browser takes for a page']],
    },
  ],
}

export const everywhere: Section = {
  heading: 'Security of both services',
  file: 'test/conformance/presentation.ts',
  about: 'Rules for any service on the Internet: HTTP, TLS, errors, logs, resources.',
  rows: [
    {
      id: 'general-1',
      asks: 'Administrative endpoints need an API key: 401 and `WWW-Authenticate: Bearer`, before anything else',
      source: 'RFC 6750 section 3',
      tests: [
        [at.httpApiKey, 'refuses %s as the API key with 401'],
        [at.httpApiKey, 'decides 401 before anything else about the request'],
      ],
    },
    {
      id: 'general-2',
      asks: 'A body has a limit',
      source: 'RFC 9110 section 15.5.14',
      tests: [[at.httpBody, '$service $path takes no more than a megabyte']],
    },
    {
      id: 'general-3',
      asks: 'A form parameter comes once, and so does a JSON member, everywhere alike',
      source: 'RFC 6749 section 3.2; RFC 7493 section 2.3',
      tests: [
        [at.token, 'the code twice'],
        [at.httpBody, '$service $path refuses what JSON.parse would change, with its path'],
      ],
    },
    {
      id: 'general-4',
      asks: 'Who is slow, or does not read, holds up nobody',
      source: 'RFC 9110 section 15.5.9',
      tests: [
        [at.resources, 'ends a connection that asks without reading, and keeps its memory'],
        [at.resources, 'stops, although a stranger holds back half of a request'],
      ],
    },
    {
      id: 'general-5',
      asks: 'Another method is 405, another media type is refused',
      source: 'RFC 9110 sections 15.5.6 and 15.5.16',
      tests: [
        [at.httpApiKey, 'answers another method with 405 and Allow'],
        [at.httpWallet, 'answers another method with 405 and Allow'],
        [at.httpBody, '$service $path takes no other media type'],
      ],
    },
    {
      id: 'general-6',
      asks: 'What holds a secret is not cached',
      source: 'RFC 6749 section 5.1; OpenID4VCI 1.0, Nonce Response',
      tests: [
        [at.oidfIssuer, 'oid4vci-1_0-issuer-happy-flow'],
        [at.oidfVerifier, 'oid4vp-1final-verifier-happy-flow'],
      ],
    },
    {
      id: 'general-7',
      asks: 'Text in every script comes back as it was',
      source: 'RFC 8259 section 8',
      tests: [[at.admin, 'names and values in every script']],
    },
    {
      id: 'general-8',
      asks: 'Personal data goes after a time',
      source: 'OpenID4VP 1.0, Privacy Considerations',
      tests: [
        [
          'test/e2e/retention.test.ts',
          'shows what was disclosed for a day, then how it went and nothing of the person, then nothing',
        ],
        ['test/e2e/retention.test.ts', 'expires at its second, with one event, and its dataset is erased'],
      ],
    },
    {
      id: 'general-9',
      asks: 'A public address without TLS is warned of',
      source: 'OpenID4VCI 1.0, TLS Requirements',
      tests: [[at.config, 'warns of http on a public host, and not on one that is private']],
    },
    {
      id: 'general-10',
      asks: 'Nothing that was sent becomes SQL',
      source: 'RFC 6819 section 5.1.4.1.2',
      tests: [
        [at.token, 'an SQL text as the code'],
        ['src/store/store.contract.ts', 'gives back what was inserted, and undefined for what was not'],
      ],
    },
    {
      id: 'general-11',
      asks: 'An error tells nothing of the inside',
      source: 'RFC 9457 section 5; CWE-209',
      tests: [
        [at.http, 'writes no key, code or stack into an error'],
        [at.http, '%s lives, is not ready, and says nothing of the reason'],
      ],
    },
    {
      id: 'general-12',
      asks: 'Clocks may differ by the same amount wherever times are compared',
      source: 'RFC 7519 section 4.1.4',
      tests: [
        ['src/verifier/authorization-response.test.ts', 'made as far from our clock as clocks may differ'],
        ['test/attacks/verifier-times.test.ts', 'a key binding %s'],
        [at.proof, 'takes an iat from 300 seconds ago to 60 seconds ahead, and not a second more'],
        [at.externalToken, 'is taken as long as clocks may differ, and no longer'],
        ['src/keys/certificate.test.ts', 'has as much time more as clocks may differ, on both ends'],
      ],
    },
    {
      id: 'general-13',
      asks: 'Whatever is sent to any endpoint, the answer is not a 5xx and a refusal writes nothing',
      source: 'RFC 9110 section 15.6',
      tests: [[at.fuzz, 'finds no 5xx, no foreign error body and no write on a refusal in its short form']],
    },
  ],
}
