/** The table of the commands that run, create and check services. */
import { CONFIG_OPTION, type CommandEntry, JSON_OPTION, WRONG_WORDS } from './command.ts'

const SERVICES = ['issuer', 'verifier', 'engine'] as const

const WORKERS_OPTION = {
  type: 'string',
  value: 'N',
  does: 'run as N processes that share the port, at most one for each core; the setting workers when absent',
} as const

const SERVICE_EXITS = {
  0: 'a signal (SIGTERM, SIGINT) stopped the service, and what ran has ended',
  1: 'the service stopped before what ran had ended: it took too long, or a second signal came; or one of its workers ended again and again',
  2: `the service cannot start: every mistake of its configuration is told; or ${WRONG_WORDS}`,
  75: 'the service cannot start now: its port is in use, its address or the token of a key is not there, the system starts no process for a worker, or its database cannot be reached or takes no writes; start it again',
} as const

export const serviceCommands = {
  issuer: {
    group: 'Services',
    does: 'issue credentials to wallets (OpenID4VCI)',
    forms: [{ words: '', does: 'run the service until a signal stops it; its log is JSON lines on stdout' }],
    options: { config: CONFIG_OPTION, workers: WORKERS_OPTION },
    examples: [
      { line: 'vouchsafe issuer', does: 'with conf/server.json of the working directory' },
      { line: 'vouchsafe issuer --config /etc/vouchsafe/issuer.json', does: 'with another configuration' },
      { line: 'vouchsafe issuer --workers 2', does: 'on two cores of one machine' },
    ],
    exits: SERVICE_EXITS,
  },
  verifier: {
    group: 'Services',
    does: 'verify what wallets present (OpenID4VP)',
    forms: [{ words: '', does: 'run the service until a signal stops it; its log is JSON lines on stdout' }],
    options: { config: CONFIG_OPTION, workers: WORKERS_OPTION },
    examples: [
      { line: 'vouchsafe verifier', does: 'with conf/server.json of the working directory' },
      { line: 'vouchsafe verifier --config /etc/vouchsafe/verifier.json', does: 'with another configuration' },
    ],
    exits: SERVICE_EXITS,
  },
  engine: {
    group: 'Services',
    does: 'run off-chain components of smart contracts',
    forms: [{ words: '', does: 'run the service until a signal stops it; its log is JSON lines on stdout' }],
    options: { config: CONFIG_OPTION },
    examples: [
      { line: 'vouchsafe engine', does: 'with conf/server.json of the working directory' },
      { line: 'vouchsafe engine --config /etc/vouchsafe/engine.json', does: 'with another configuration' },
    ],
    exits: {
      ...SERVICE_EXITS,
      1: 'the service stopped before what ran had ended: it took too long, or a second signal came',
      75: 'the service cannot start now: its port is in use, its address is not there, the node of its chain does not answer, or its database cannot be reached, takes no writes, or is in use by another process of the engine, or was replaced by a standby while the engine ran; start it again',
    },
  },
  demo: {
    group: 'Getting started and finding out',
    does: 'a credential and a shared secret, with all services, on this machine',
    forms: [{ words: '', does: 'walk through both, and then stay up for a wallet and a browser of your own' }],
    options: {
      once: { type: 'boolean', default: false, does: 'end after the walk' },
      part: { type: 'string', choices: ['credential', 'secret'], does: 'one part alone' },
      home: {
        type: 'string',
        value: 'DIR',
        does: 'keep keys, databases and log there; else they are removed at the end',
      },
      'port-base': {
        type: 'string',
        default: '8079',
        value: 'PORT',
        does: 'the port of the issuer; those of the others follow it',
      },
      'base-url': {
        type: 'string',
        value: 'URL',
        does: 'where wallets reach both services, by a tunnel or proxy that leads to the port after that of the issuer',
      },
      'no-browser': { type: 'boolean', default: false, does: 'open no browser; the link to the console is printed' },
    },
    examples: [
      { line: 'vouchsafe demo', does: 'everything, until Ctrl-C' },
      { line: 'vouchsafe demo --once --part credential', does: 'a test of an installation, for scripts' },
      { line: 'vouchsafe demo --base-url https://demo.example.org', does: 'for a phone anywhere' },
    ],
    notes: ['A signal before the end of the walk ends it with 130, as in a shell.'],
    exits: { 0: 'the walk succeeded', 1: 'the walk failed, and says at which step', 2: WRONG_WORDS },
  },
  init: {
    group: 'Getting started and finding out',
    does: 'write keys and a configuration for a service',
    forms: [{ words: 'issuer|verifier|engine', does: 'write the files of a first start; nothing is overwritten' }],
    choices: SERVICES,
    options: {
      dir: { type: 'string', default: '.', value: 'DIR', does: 'where to write' },
      'base-url': { type: 'string', value: 'URL', does: 'where others reach the service; this machine when absent' },
      profile: {
        type: 'string',
        choices: ['haip'],
        subcommands: ['issuer', 'verifier'],
        does: 'the profile of the service; with a CA for tests and, for an issuer, a provider of wallets for tests',
      },
      country: {
        type: 'string',
        value: 'COUNTRY',
        subcommands: ['issuer'],
        does: 'for mobile documents: certificates by ISO/IEC 18013-5, of a CA for tests in this country',
      },
      json: JSON_OPTION,
    },
    examples: [
      { line: 'vouchsafe init issuer --dir issuer', does: 'an issuer of this machine, in a directory of its own' },
      { line: 'vouchsafe init verifier --base-url https://verify.example.org', does: 'a verifier behind a proxy' },
      { line: 'vouchsafe init issuer --profile haip --dir issuer', does: 'an issuer for wallets that know HAIP alone' },
      { line: 'vouchsafe init issuer --country DE --dir issuer', does: 'an issuer of mobile documents' },
    ],
    exits: { 0: 'the files are written', 2: `nothing is written: a file is there already, or ${WRONG_WORDS}` },
  },
  doctor: {
    group: 'Getting started and finding out',
    does: 'say everything that is wrong with a configuration, and what support asks for',
    forms: [
      { words: '[issuer|verifier|engine]', does: 'examine the configuration, of the service that its settings tell' },
    ],
    choices: SERVICES,
    options: { config: CONFIG_OPTION, json: JSON_OPTION },
    notes: ['Nothing secret is in the output: no key, password or token, and of an address only its host.'],
    examples: [
      { line: 'vouchsafe doctor', does: 'before a start, and when something is odd' },
      { line: 'vouchsafe doctor verifier --json > report.json', does: 'to send to whoever helps you' },
    ],
    exits: {
      0: 'the service can start with it',
      2: `the service cannot start with it, or not be used; or ${WRONG_WORDS}`,
    },
  },
} as const satisfies Record<string, CommandEntry>
