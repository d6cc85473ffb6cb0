/** The table of the commands for the execution engine: contracts, components, and secrets that engines share. */
import { type CommandEntry, JSON_OPTION, WRONG_WORDS } from './command.ts'

const ACTIONS = ['deploy', 'send', 'call', 'show', 'mine']
const GAS_PRICE_OPTION = {
  type: 'string',
  value: 'GWEI',
  does: 'the most that a unit of gas may cost; 1000 when absent',
} as const

export const contractCommands = {
  chain: {
    group: 'Contracts with off-chain components',
    does: 'contracts on a local chain in a directory, or on the chain of a node',
    forms: [
      { words: 'deploy NAME|ARTIFACT.json', does: 'deploy a contract; begins the local chain where there is none' },
      { words: 'send ADDRESS FUNCTION [ARGUMENT ...]', does: 'call a function by a transaction' },
      { words: 'send ADDRESS setComponent --component MODULE', does: 'give a contract another component' },
      { words: 'call ADDRESS FUNCTION [ARGUMENT ...]', does: 'ask a function, without a transaction' },
      { words: 'show [ADDRESS]', does: 'the chain, or a contract with its component and engines' },
      { words: 'mine', does: 'add a block to the local chain' },
      { words: 'serve', does: 'answer JSON-RPC for the local chain on this machine, until a signal' },
    ],
    choices: ['deploy', 'send', 'call', 'show', 'mine', 'serve'],
    options: {
      engine: {
        ...{
          type: 'string',
          multiple: true,
          default: [] as string[],
          value: 'URL|ADDRESS=URL',
          subcommands: ['deploy'],
        },
        does: 'an engine of the contract; may be repeated',
      },
      component: {
        type: 'string',
        value: 'MODULE',
        subcommands: ['deploy', 'send'],
        does: 'the component, as it was built',
      },
      'component-uri': {
        type: 'string',
        default: '',
        value: 'URL',
        subcommands: ['deploy', 'send'],
        does: 'where engines fetch the component',
      },
      args: {
        type: 'string',
        default: '[]',
        value: 'JSON',
        subcommands: ['deploy'],
        does: 'further arguments of the constructor, as a list',
      },
      artifact: {
        type: 'string',
        value: 'NAME|ARTIFACT.json',
        subcommands: ['send', 'call'],
        does: 'the contract whose functions and errors these are',
      },
      dir: { type: 'string', value: 'DIR', does: 'the directory of the local chain; data/chain when absent' },
      rpc: { type: 'string', value: 'URL', does: 'the node of a network, in place of a local chain' },
      key: { type: 'string', value: 'KEYFILE', does: 'the key of the account; a local chain has one of its own' },
      'max-gas-price': { ...GAS_PRICE_OPTION, subcommands: ['deploy', 'send'] },
      port: { type: 'string', default: '8545', value: 'PORT', subcommands: ['serve'], does: 'where to answer' },
      json: { ...JSON_OPTION, subcommands: ACTIONS },
    },
    examples: [
      {
        line: 'vouchsafe chain deploy Hello --engine http://localhost:8400 --component hello.component.js',
        does: 'a contract with one engine, on a local chain',
      },
      { line: 'vouchsafe chain call 0x12…ef owner --json', does: 'the answer as JSON' },
      { line: 'vouchsafe chain show --rpc https://node.example', does: 'whether a node answers, and its head' },
    ],
    exits: { 0: 'done', 2: `not done: the chain cannot be reached, the contract refused, or ${WRONG_WORDS}` },
  },
  component: {
    group: 'Contracts with off-chain components',
    does: 'build an off-chain component, and run its tests in the sandbox',
    forms: [
      { words: 'build FILE', does: 'bundle a component of its sources; say its digest and its hooks' },
      { words: 'test FILE', does: 'run the tests in FILE' },
    ],
    choices: ['build', 'test'],
    options: {
      out: {
        type: 'string',
        value: 'FILE',
        subcommands: ['build'],
        does: 'where to write; beside the source when absent',
      },
      json: { ...JSON_OPTION, subcommands: ['build'] },
    },
    examples: [
      { line: 'vouchsafe component build counter.ts', does: 'writes counter.component.js' },
      { line: 'vouchsafe component test counter.test.ts', does: 'by the test runner of Node' },
    ],
    exits: {
      0: 'it is built, or its tests passed',
      1: 'a test failed',
      2: `an engine would not run it, or ${WRONG_WORDS}`,
    },
  },
  secret: {
    group: 'Contracts with off-chain components',
    does: 'share a secret among the engines of a contract, and get it back',
    forms: [
      { words: 'key FILE', does: 'make the key of an owner' },
      { words: 'put --contract ADDRESS', does: 'share the secret on stdin; tells its id' },
      { words: 'get --contract ADDRESS --id ID', does: 'get the secret back, to stdout' },
      { words: 'delete --contract ADDRESS --id ID', does: 'let every engine forget its share' },
      { words: 'status --contract ADDRESS --id ID', does: 'which engines hold their share' },
    ],
    choices: ['key', 'put', 'get', 'delete', 'status'],
    options: {
      contract: {
        type: 'string',
        value: 'ADDRESS',
        subcommands: ['put', 'get', 'delete', 'status'],
        does: 'the contract',
      },
      id: {
        type: 'string',
        value: 'ID',
        subcommands: ['put', 'get', 'delete', 'status'],
        does: 'the id; random for put when absent',
      },
      file: { type: 'string', value: 'FILE', subcommands: ['put'], does: 'the secret, in place of stdin' },
      threshold: {
        type: 'string',
        value: 'NUMBER',
        subcommands: ['put'],
        does: 'how many shares give the secret back; 2 when absent',
      },
      scheme: {
        type: 'string',
        choices: ['shamir', 'xor'],
        subcommands: ['put', 'get'],
        does: 'how the secret is split; shamir when absent',
      },
      resume: {
        type: 'string',
        value: 'FILE',
        subcommands: ['put'],
        does: 'continue an upload that some engines did not take',
      },
      out: { type: 'string', value: 'FILE', subcommands: ['get'], does: 'write the secret there, in place of stdout' },
      all: {
        type: 'boolean',
        default: false,
        subcommands: ['get'],
        does: 'ask every engine, and name those that answer wrongly',
      },
      chain: { type: 'string', value: 'DIR', does: 'the directory of the local chain; data/chain when absent' },
      rpc: { type: 'string', value: 'URL', does: 'the node of a network, in place of a local chain' },
      key: { type: 'string', value: 'KEYFILE', does: 'the key of the owner; a local chain has one of its own' },
      'max-gas-price': { ...GAS_PRICE_OPTION, subcommands: ['put', 'get', 'delete'] },
      json: JSON_OPTION,
    },
    examples: [
      { line: 'vouchsafe secret put --contract 0x12…ef --file recovery.txt', does: 'tells the id' },
      {
        line: 'vouchsafe secret get --contract 0x12…ef --id 42 --out recovery.txt',
        does: 'from any threshold of engines',
      },
    ],
    exits: {
      0: 'done',
      1: 'done in part, or not done: an engine, the chain or a file is why, and it is said which',
      2: WRONG_WORDS,
    },
  },
} as const satisfies Record<string, CommandEntry>
