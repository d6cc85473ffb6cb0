/**
 * The rules of the HTTP interface of the execution engine, in the order of its document;
 * docs/divergences/interface.md says what that is.
 */
import type { Section } from './row.ts'

export const engineInterface: Section = {
  heading: 'The HTTP interface: execution engine',
  file: 'test/conformance/interface-engine.ts',
  about: 'Each row and each rule of the document that laid it down ([interface.md](divergences/interface.md)).',
  rows: [
    {
      id: 'engine-1',
      asks: 'an off-chain component is a subsystem of a contract',
      source: 'Execution engine, What the service does',
      tests: [
        ['src/engine/watcher.test.ts', 'are served as they come, change their component, and go'],
        ['src/engine/component-source.test.ts', 'is a visible failure while its file cannot be used'],
        [
          'src/bin/engine/component-files.test.ts',
          'says of a component with other bytes than its name says where it is, and takes it from another directory',
        ],
      ],
    },
    {
      id: 'engine-2',
      asks: 'the engine runs it, automatically',
      source: 'Execution engine, What the service does',
      tests: [
        ['src/engine/state-change.test.ts', 'runs once at the start, once for many changes, and not without one'],
        ['src/engine/timers.test.ts', 'run when they are due, once, and after a restart too'],
        ['src/engine/outbox.test.ts', 'sends in order, with nonces one after another, and lets go of what is included'],
      ],
    },
    {
      id: 'engine-3',
      asks: 'HTTP endpoints for requests to the contract',
      source: 'Execution engine, What the service does',
      tests: [
        ['src/engine/routes.test.ts', 'is the target after the address as it was sent: %s'],
        [
          'components/secret-sharing/suite.test.ts',
          'stores a share, says so to the contract, and gives it back in the window',
        ],
      ],
    },
    {
      id: 'engine-4',
      asks: 'confidentially: nothing of the data is published on the chain',
      source: 'Execution engine, What the service does',
      tests: [
        ['sdk/client/client.test.ts', 'is on the chain in no form but the commitments to its shares'],
        [
          'src/engine/commit.test.ts',
          'nothing that a component stored, sends or plans can be read, nor the keys of what it stored',
        ],
      ],
    },
    {
      id: 'engine-5',
      asks: 'a key management service can be built on them',
      source: 'Execution engine, What the service does',
      tests: [
        [
          'components/key-management/sandbox.test.ts',
          'makes a key, signs by two of three engines, without the one that is gone, and only for whom the policy names',
        ],
        [
          'components/key-management/key-management.test.ts',
          'makes a key of which %d of %d engines sign, as node:crypto verifies',
        ],
      ],
    },
    {
      id: 'engine-6',
      asks: 'a secret-sharing service can be built on them',
      source: 'Execution engine, What the service does',
      tests: [
        ['sdk/client/client.test.ts', 'comes back, and each engine was sent a request of its own'],
        ['test/e2e/secret.test.ts', 'puts a secret, says how it stands, gets it back byte for byte, and deletes it'],
      ],
    },
    {
      id: 'engine-7',
      asks: 'with authentication that the contract defines',
      source: 'Execution engine, What the service does',
      tests: [
        ['components/secret-sharing/suite.test.ts', 'answers 401 for whoever is not the owner, and for nobody'],
        ['components/key-management/key-management.test.ts', 'knows nobody but whom the policy names at this block'],
      ],
    },
    {
      id: 'engine-8',
      asks: 'contracts may list the endpoints of their engines in their state',
      source: 'Execution engine, What the service does',
      tests: [
        ['components/secret-sharing/SecretSharing.test.ts', 'names its engines and its component'],
        ['src/engine/routes.test.ts', '421 when the contract does not list this engine'],
      ],
    },
    {
      id: 'engine-9',
      asks: 'a client reads the list from the state, and may cache it',
      source: 'Execution engine, What the service does',
      tests: [
        ['sdk/client/client.test.ts', 'is read once, and again when it is old or an engine says that it is'],
        ['sdk/client/client.test.ts', 'is that of a contract which has one'],
      ],
    },
    {
      id: 'engine-10',
      asks: 'it selects the engines that matter, possibly all',
      source: 'Execution engine, What the service does',
      tests: [
        ['sdk/client/client.test.ts', 'that is slow is not waited for'],
        ['sdk/client/client.test.ts', 'comes back by XOR, where every engine is needed'],
      ],
    },
    {
      id: 'engine-11',
      asks: 'it sends HTTP requests to them',
      source: 'Execution engine, What the service does',
      tests: [['sdk/client/client.test.ts', 'comes back, and each engine was sent a request of its own']],
    },
    {
      id: 'engine-12',
      asks: '`EE_HOSTNAME`: the host of one engine',
      source: 'Execution engine, Resources and their fields',
      tests: [
        ['sdk/client/client.test.ts', 'may come from an extractor'],
        ['test/attacks/offchain-authentication.test.ts', 'is replayed to another engine'],
      ],
    },
    {
      id: 'engine-13',
      asks: '`CONTRACT_ADDRESS`: of the contract on its chain, hexadecimal',
      source: 'Execution engine, Resources and their fields',
      tests: [
        ['src/engine/routes.test.ts', 'is the same whatever the form of the address: %s'],
        ['src/engine/routes.test.ts', '400 for an address that is none: %s'],
        ['src/engine/routes.test.ts', '404 for a contract that is not served, and where a component takes no requests'],
      ],
    },
    {
      id: 'engine-14',
      asks: '`CONTRACT_SPECIFIC_PATH`: any path that the component defines',
      source: 'Execution engine, Resources and their fields',
      tests: [['src/engine/routes.test.ts', 'is the target after the address as it was sent: %s']],
    },
    {
      id: 'engine-15',
      asks: 'the formats of requests and responses are the contract’s',
      source: 'Execution engine, Resources and their fields',
      tests: [
        ['src/engine/routes.test.ts', 'has every method that the parser knows, and the body of each as it was given'],
        ['src/engine/routes.test.ts', 'is the answer of the component, with nothing invented but what the engine says'],
      ],
    },
    {
      id: 'engine-16',
      asks: '`https://<EE_HOSTNAME>/offchain/<CONTRACT_ADDRESS>/<CONTRACT_SPECIFIC_PATH>`',
      source: 'Execution engine, Endpoints',
      tests: [
        ['src/engine/routes.test.ts', 'is the target after the address as it was sent: %s'],
        ['src/engine/routes.test.ts', 'is the same whatever the form of the address: %s'],
      ],
    },
    {
      id: 'engine-17',
      asks: '`GET`: download',
      source: 'Execution engine, Endpoints',
      tests: [
        [
          'components/secret-sharing/suite.test.ts',
          'stores a share, says so to the contract, and gives it back in the window',
        ],
        ['src/engine/routes.test.ts', 'is GET for HEAD, which gets the head of the answer alone'],
      ],
    },
    {
      id: 'engine-18',
      asks: '`POST` or `PUT`: upload; which of them is the contract’s to say',
      source: 'Execution engine, Endpoints',
      tests: [
        ['components/secret-sharing/suite.test.ts', 'answers an upload with 201 and nothing else'],
        ['components/secret-sharing/suite.test.ts', 'answers 405 for %s'],
        ['components/key-management/key-management.test.ts', 'answers other methods by 405'],
      ],
    },
    {
      id: 'engine-19',
      asks: 'the body is sent as given (plain data)',
      source: 'Execution engine, Endpoints',
      tests: [
        ['src/engine/routes.test.ts', 'has every method that the parser knows, and the body of each as it was given'],
        ['src/engine/routes.test.ts', 'has bodies that come in chunks, and headers with all their values'],
      ],
    },
    {
      id: 'engine-20',
      asks: 'full flexibility of paths, request formats and response formats',
      source: 'Execution engine, Endpoints',
      tests: [
        ['src/component/component-runtime.test.ts', 'answers a request with what the engine has stored: %s'],
        ['src/engine/routes.test.ts', 'is the answer of the component, with nothing invented but what the engine says'],
        ['components/hello/hello.test.ts', 'answers what it was sent, with what the contract says'],
      ],
    },
    {
      id: 'engine-21',
      asks: 'a header that authenticates the request, where the contract asks for one',
      source: 'Execution engine, Endpoints',
      tests: [
        [
          'test/attacks/offchain-authentication.test.ts',
          'is recognised when nothing is wrong, however the header’s name is written',
        ],
        ['components/secret-sharing/suite.test.ts', 'asks who it is before it looks at the share'],
      ],
    },
    {
      id: 'engine-22',
      asks: 'no standard: the programmer of the contract defines it',
      source: 'Execution engine, Authentication',
      tests: [
        ['components/hello/hello.test.ts', 'counts'],
        ['components/secret-sharing/suite.test.ts', 'answers 401 for whoever is not the owner, and for nobody'],
        ['components/key-management/key-management.test.ts', 'knows nobody but whom the policy names at this block'],
      ],
    },
    {
      id: 'engine-23',
      asks: 'ECDSA over secp256k1, as transactions are signed: one identity on the chain and off it',
      source: 'Execution engine, Authentication',
      tests: [
        ['src/offchain/authentication/authentication.test.ts', 'knows who signed: $note'],
        ['sdk/client/client.test.ts', 'is the owner’s alone'],
        [
          'test/contracts/wallet.test.ts',
          'shares a secret and gets it back; each request is shown and signed for one engine',
        ],
      ],
    },
    {
      id: 'engine-24',
      asks: 'a malicious engine cannot replay a request to another: the engine’s address is in the signed message',
      source: 'Execution engine, Authentication',
      tests: [
        ['test/attacks/offchain-authentication.test.ts', 'is not when it $attack'],
        ['test/attacks/offchain-authentication.test.ts', 'is replayed to another engine'],
        ['sdk/client/client.test.ts', 'comes back, and each engine was sent a request of its own'],
      ],
    },
    {
      id: 'engine-25',
      asks: 'nor is a request good twice at the engine that it was for',
      source: 'Execution engine, Authentication',
      tests: [
        ['src/engine/commit.test.ts', 'is good once, of fifty that come together: %s'],
        [
          'test/attacks/offchain-authentication.test.ts',
          'is the same when it comes again to the same engine, so that it is known as spent',
        ],
      ],
    },
  ],
}
