/** The table of the commands for operators, and of shell completion. */
import { CONFIG_OPTION, type CommandEntry, JSON_OPTION, REPEATED, WRONG_WORDS } from './command.ts'

const SERVICE_OPTION = {
  type: 'string',
  choices: ['issuer', 'verifier'],
  does: 'the service, where the configuration does not tell it',
} as const

export const operatingCommands = {
  console: {
    group: 'Operating a service',
    does: 'a page in the browser: issue, verify, look at sessions and engines',
    forms: [
      { words: '', does: 'serve the page on this machine until a signal stops it, and print a link that signs in' },
    ],
    options: {
      issuer: { type: 'string', value: 'URL', does: 'the base URL of the issuer' },
      verifier: { type: 'string', value: 'URL', does: 'the base URL of the verifier' },
      engine: {
        ...REPEATED,
        value: 'URL',
        does: 'the base URL of an execution engine; may be repeated',
      },
      port: { type: 'string', default: '8090', value: 'PORT', does: 'where the page is served' },
      'sign-in': {
        type: 'string',
        value: 'ISSUER',
        does: 'the issuer of an OpenID Connect provider where people sign in, beside the link',
      },
      'client-id': { type: 'string', value: 'ID', does: 'the client that the console is at the provider' },
      scope: {
        type: 'string',
        value: 'SCOPE',
        does: 'the scope that the provider is asked for; openid email when absent',
      },
      allow: {
        ...REPEATED,
        value: 'CLAIM=VALUE',
        does: 'who may sign in, by an email or another claim of theirs; once for each, and at least once',
      },
    },
    notes: [
      'The API keys come from VOUCHSAFE_ISSUER_API_KEY and VOUCHSAFE_VERIFIER_API_KEY, the secret of the client from VOUCHSAFE_CONSOLE_CLIENT_SECRET.',
      'VOUCHSAFE_ENGINE_API_KEYS has those of the engines, in the order of --engine with spaces between, and - for an engine without: of that the console shows what everybody may know.',
    ],
    examples: [
      {
        line: 'VOUCHSAFE_ISSUER_API_KEY=… vouchsafe console --issuer http://localhost:8079',
        does: 'a console of one issuer',
      },
      {
        line: 'vouchsafe console --issuer http://localhost:8079 --sign-in https://login.example.edu --client-id console --allow email=ada@example.edu',
        does: 'one that Ada signs in to at the provider',
      },
    ],
    exits: {
      0: 'a signal stopped it',
      2: `it cannot be served: no service, no API key, or the port is in use; or ${WRONG_WORDS}`,
    },
  },
  callbacks: {
    group: 'Operating a service',
    does: 'the events that your application has not been told',
    forms: [
      { words: 'list', does: 'list the events that wait, and those that were given up (dead)' },
      { words: 'retry ID', does: 'send one of them now' },
      { words: 'retry --all', does: 'send all of them now' },
    ],
    choices: ['list', 'retry'],
    options: {
      pending: { type: 'boolean', default: false, subcommands: ['list'], does: 'only those that wait' },
      dead: { type: 'boolean', default: false, subcommands: ['list'], does: 'only those that were given up' },
      all: { type: 'boolean', default: false, subcommands: ['retry'], does: 'every event that waits or is dead' },
      service: SERVICE_OPTION,
      config: CONFIG_OPTION,
      json: JSON_OPTION,
    },
    examples: [
      { line: 'vouchsafe callbacks list --dead', does: 'what your application missed for a day' },
      { line: 'vouchsafe callbacks retry --all', does: 'when your application is back' },
    ],
    exits: {
      0: 'done; of an event that is under way already, or waits for another of its session, `retried` is 0',
      2: `there is no such event, the database or the configuration cannot be read, or ${WRONG_WORDS}`,
    },
  },
  audit: {
    group: 'Operating a service',
    does: 'copy the audit log, and verify a copy',
    forms: [
      { words: 'export', does: 'write a copy of the audit log to stdout, one JSON object a line' },
      { words: 'verify COPY --certificate PEM', does: 'say whether a copy is whole and unchanged' },
    ],
    choices: ['export', 'verify'],
    options: {
      certificate: {
        ...REPEATED,
        value: 'PEM',
        subcommands: ['verify'],
        does: 'the certificate of the key that signs the log; may be repeated',
      },
      checkpoint: {
        ...REPEATED,
        value: 'KEPT',
        subcommands: ['verify'],
        does: 'a checkpoint that you kept, or a file with some; may be repeated',
      },
      service: SERVICE_OPTION,
      config: CONFIG_OPTION,
      json: JSON_OPTION,
    },
    examples: [
      { line: 'vouchsafe audit export > copy.jsonl', does: 'beside the running service' },
      { line: 'vouchsafe audit verify copy.jsonl --certificate conf/issuer.pem', does: 'anywhere, without a service' },
    ],
    exits: {
      0: 'the copy is written, or intact',
      1: 'the copy is not intact',
      2: `it cannot be told whether the copy is intact, a file or the database cannot be read, or ${WRONG_WORDS}`,
    },
    exitSubcommands: { 1: ['verify'] },
  },
  'status-list': {
    group: 'Operating a service',
    does: 'write the status lists of an issuer as files; after a restore, revoke in them what was lost',
    forms: [
      { words: 'export DIR', does: 'write what has changed since the last export into a directory' },
      {
        words: 'revoke-unknown',
        does: 'after a restore, revoke what was issued since the backup, in the lists that the backup has',
      },
    ],
    choices: ['export', 'revoke-unknown'],
    options: { config: CONFIG_OPTION, json: JSON_OPTION },
    notes: [
      'Repeat an export more often than statusList.ttlSeconds; nothing that has not changed is signed or written again.',
      'Beside DIR it keeps DIR.index.json, with which it knows what has changed; its time is that of the last export that succeeded.',
    ],
    examples: [
      { line: 'vouchsafe status-list export /srv/status/public', does: 'beside the running service, from a timer' },
      {
        line: 'vouchsafe status-list revoke-unknown',
        does: 'once, when every process was started again after a restore',
      },
    ],
    exits: {
      0: 'the files are written, or the entries revoked',
      2: `a file, the database or the configuration cannot be used, no service has started on a database that was put back, or ${WRONG_WORDS}`,
    },
  },
  db: {
    group: 'Operating a service',
    does: 'back up, restore and move the database, its state and its schema',
    forms: [
      { words: 'backup FILE', does: 'write a consistent copy into one new file, while the service runs' },
      { words: 'restore FILE', does: 'put a backup in the place of the database, while no service runs' },
      { words: 'status', does: 'the schema, the generation, sizes and rows' },
      {
        words: 'copy --from URL --to URL',
        does: 'move to another database, SQLite or PostgreSQL; goes on where it was cut off',
      },
      { words: 'migrate', does: 'bring the schema up to date, as each start of the service does' },
      { words: 'compact', does: 'rewrite an SQLite file without what was deleted, while no service runs' },
    ],
    choices: ['backup', 'restore', 'status', 'migrate', 'compact', 'copy'],
    options: {
      from: {
        type: 'string',
        value: 'URL|CONFIG.json',
        subcommands: ['copy'],
        does: 'the database to copy, as database.url has it, or the configuration that names it',
      },
      to: { type: 'string', value: 'URL|CONFIG.json', subcommands: ['copy'], does: 'the empty database to copy into' },
      check: {
        type: 'boolean',
        default: false,
        subcommands: ['migrate'],
        does: 'change nothing: only say what is missing',
      },
      service: { ...SERVICE_OPTION, choices: ['issuer', 'verifier', 'engine'] },
      config: CONFIG_OPTION,
      json: JSON_OPTION,
    },
    notes: ['A backup is an SQLite file, also that of a PostgreSQL database, and may be restored into either.'],
    examples: [
      { line: 'vouchsafe db backup /backup/issuer.db', does: 'beside the running service' },
      { line: 'vouchsafe db restore /backup/issuer.db', does: 'after the service was stopped' },
      { line: 'vouchsafe db status --json', does: 'for a program' },
      {
        line: 'vouchsafe db copy --from sqlite:data/issuer.db --to conf/postgresql.json',
        does: 'after the service was stopped',
      },
      { line: 'vouchsafe db migrate --check', does: 'before the first start of a new release' },
    ],
    exits: {
      0: 'done',
      1: 'with --check: steps of the schema are missing',
      2: `not done, and nothing was changed, but that a copy which was cut off leaves what it wrote; the message says why; or ${WRONG_WORDS}`,
    },
    exitSubcommands: { 1: ['migrate'] },
  },
  completion: {
    group: 'Your shell',
    does: 'let your shell complete commands, options and their values',
    forms: [{ words: 'bash|zsh|fish', does: 'print a script for this shell' }],
    choices: ['bash', 'zsh', 'fish'],
    options: {},
    examples: [
      { line: 'source <(vouchsafe completion bash)', does: 'a line of ~/.bashrc' },
      { line: 'source <(vouchsafe completion zsh)', does: 'a line of ~/.zshrc, after compinit' },
      { line: 'vouchsafe completion fish > ~/.config/fish/completions/vouchsafe.fish', does: 'once' },
    ],
    exits: { 0: 'the script is printed', 2: WRONG_WORDS },
  },
} as const satisfies Record<string, CommandEntry>
