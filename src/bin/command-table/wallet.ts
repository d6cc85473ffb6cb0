/** The table of the commands of the reference wallet. */
import { type CommandEntry, JSON_OPTION, REPEATED, WRONG_WORDS } from './command.ts'

export const walletCommands = {
  wallet: {
    group: 'The reference wallet',
    does: 'hold credentials, and present no more of them than is asked for',
    forms: [
      { words: 'receive OFFER-URI', does: 'take what an issuer offers; wait up to a minute for what comes later' },
      {
        words: 'receive --issuer URL --configuration ID',
        does: 'ask an issuer without an offer, at its page in a browser; --scope SCOPE instead of the id',
      },
      { words: 'collect', does: 'ask again for what issuers had to decide about' },
      { words: 'list', does: 'what the wallet holds, and waits for' },
      { words: 'show ID', does: 'one credential, and what of it can stay hidden' },
      { words: 'renew ID', does: 'replace a credential by new copies of it, with new keys' },
      { words: 'present REQUEST-URI', does: 'show what a verifier asks for, agree, and present it' },
      { words: 'decline REQUEST-URI', does: 'tell the verifier that you do not agree' },
      { words: 'attest DIR', does: 'for tests: take a wallet attestation of the provider in a directory' },
    ],
    choices: ['receive', 'collect', 'list', 'show', 'renew', 'present', 'decline', 'attest'],
    options: {
      'tx-code': {
        type: 'string',
        value: 'CODE',
        subcommands: ['receive'],
        does: 'the transaction code that the issuer gave you',
      },
      'client-id': {
        type: 'string',
        value: 'ID',
        subcommands: ['receive'],
        does: 'the client that an authorization server knows, if it has to',
      },
      issuer: { type: 'string', value: 'URL', subcommands: ['receive'], does: 'the issuer to ask without an offer' },
      configuration: {
        type: 'string',
        value: 'ID',
        subcommands: ['receive'],
        does: 'the credential to ask for, by its id in the metadata of the issuer',
      },
      scope: {
        type: 'string',
        value: 'SCOPE',
        subcommands: ['receive'],
        does: 'the credential to ask for, by its scope',
      },
      'no-browser': {
        type: 'boolean',
        default: false,
        subcommands: ['receive'],
        does: 'open no browser; the address of the page of the issuer is printed on stderr',
      },
      yes: {
        type: 'boolean',
        short: 'y',
        subcommands: ['present'],
        does: 'agree beforehand; needed where nobody can be asked',
      },
      origin: {
        type: 'string',
        value: 'URL',
        subcommands: ['present', 'decline'],
        does: 'play the browser for a page of this origin; the address is the digital_credentials_uri of its session',
      },
      approve: { ...REPEATED, value: 'TYPE', subcommands: ['present'], does: 'a transaction type that --yes approves' },
      home: {
        type: 'string',
        value: 'DIR',
        does: 'where keys and credentials are (VOUCHSAFE_WALLET_HOME, else ~/.vouchsafe/wallet)',
      },
      json: { ...JSON_OPTION, does: 'print one JSON object and nothing else, errors too' },
    },
    notes: ['A URI has characters that mean something to a shell: put it in single quotes.'],
    examples: [
      { line: "vouchsafe wallet receive 'openid-credential-offer://?…'", does: 'an offer of an issuer' },
      {
        line: 'vouchsafe wallet receive --issuer https://issuer.example.org --scope student_card',
        does: 'a credential that nobody offered',
      },
      { line: 'vouchsafe wallet list --json', does: 'for a program' },
      { line: "vouchsafe wallet present 'openid4vp://?…' --yes", does: 'a request of a verifier, in a script' },
      {
        line: 'vouchsafe wallet present https://verifier.example.org/… --origin https://shop.example',
        does: 'a request of a page, as a browser passes it on',
      },
    ],
    exits: {
      0: 'done',
      1: 'not done, or done in part: the other side refused or cannot be reached, you did not agree, or the wallet lacks what is needed, or cannot read or write its files',
      2: WRONG_WORDS,
    },
  },
} as const satisfies Record<string, CommandEntry>
