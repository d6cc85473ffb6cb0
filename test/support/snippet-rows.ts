/** The test that runs each block of the documents which test/snippets.test.ts does not try by itself. */

export interface SnippetRow {
  /** The path of the document. */
  readonly page: string
  /** A text that only this block of the page has. */
  readonly has: string
  /** The file that runs the block; it names the page. */
  readonly by: string
}

/** A block that no test can run. */
export interface UnrunRow extends Omit<SnippetRow, 'by'> {
  readonly because: string
}

const rowsOf = (page: string, by: string, ...texts: readonly string[]): SnippetRow[] =>
  texts.map((has) => ({ page, has, by }))

const OPERATING = 'test/operating-doc.test.ts'
const HOW_TO = 'test/how-to-doc.test.ts'
const DEPLOY = 'test/deploy.test.ts'
const ENGINE = 'test/engine-doc.test.ts'
const APPLICATION = 'test/application-doc.test.ts'
const CONTRACT = 'test/contracts/contract-doc.test.ts'
const DOCS = 'test/docs.test.ts'
const LIBRARY = 'test/server-library-doc.test.ts'
const WALK = 'test/walk-doc.test.ts'
const ELEMENT = 'test/browser/element-doc.test.ts'
const CODE_WALLET = 'test/e2e/wallet-authorization-code.test.ts'
const CARD = 'test/e2e/library-card.test.ts'
const HAIP = 'test/e2e/haip-doc.test.ts'
const TELEMETRY = 'test/e2e/telemetry.test.ts'
const STATUS_FILES_DOC = 'test/status-lists-doc.test.ts'
const STATUS_FILES = 'test/interop/status-list-files.test.ts'

export const runBy: readonly SnippetRow[] = [
  ...rowsOf('README.md', DOCS, 'init verifier', 'cd try/issuer', 'cd try/verifier', 'CONFIGURATION=', 'QUERY='),
  ...rowsOf('docs/operating.md', TELEMETRY, '.listen(4318)'),
  ...rowsOf('docs/authorization-code.md', LIBRARY, 'getInteraction'),
  ...rowsOf('docs/authorization-code.md', CODE_WALLET, '--scope', '$OFFER', 'POSTER=', 'wallet renew'),
  ...rowsOf(
    'docs/how-to/haip.md',
    HAIP,
    ...['vouchsafe init issuer', 'vouchsafe issuer\n', 'wallet attest', 'CONFIGURATION=', 'wallet renew'],
    ...['createServer', 'node portal.mjs', '--scope student_card'],
  ),
  ...rowsOf('docs/callbacks.md', 'test/callbacks-doc.test.ts', '"timestamp"', 'createHmac'),
  ...rowsOf('docs/callbacks.md', OPERATING, 'callbacks retry'),
  ...rowsOf('docs/chains.md', ENGINE, 'chain deploy Component'),
  ...rowsOf('docs/console.md', OPERATING, 'VOUCHSAFE_ISSUER_API_KEY=…'),
  ...rowsOf('docs/console.md', 'test/interop/sign-in.test.ts', 'VOUCHSAFE_CONSOLE_CLIENT_SECRET'),
  ...rowsOf(
    'docs/element.md',
    ELEMENT,
    'createVerifierClient',
    '<!doctype html>',
    'element.addEventListener',
    'node application.mjs',
    "wallet present 'haip",
    'digital_credentials_uri } =',
    'digital: digital_credentials_uri }',
    'const policy',
    "setAttribute('digital-credentials'",
    '--origin',
    '::part',
  ),
  ...rowsOf('docs/engine.md', DOCS, 'client.callAll'),
  ...rowsOf('docs/engine.md', ENGINE, 'for n in 1 2 3', 'secret put', 'createKey 1 2', 'signTogether('),
  ...rowsOf('docs/engine.md', CONTRACT, 'struct Engine', 'contract Guestbook', 'out/Guestbook.json'),
  ...rowsOf('docs/how-to/status-lists-by-cdn.md', STATUS_FILES, 'vouchsafe status-list export', 'try_files'),
  ...rowsOf('docs/how-to/status-lists-by-cdn.md', STATUS_FILES_DOC, 'OnFailure', '[Timer]', 'kind: CronJob', 'find '),
  ...rowsOf('docs/how-to/containers.md', DEPLOY, 'init verifier --dir', 'service: issuer'),
  ...rowsOf('docs/how-to/external-authorization-server.md', APPLICATION, '"pre-authorized_code": "Leh8'),
  ...rowsOf('docs/how-to/external-authorization-server.md', 'test/interop/authorization-server.ts', 'new Provider('),
  ...rowsOf('docs/how-to/production.md', HOW_TO, 'vouchsafe init issuer', 'vouchsafe doctor issuer'),
  ...rowsOf('docs/how-to/change-a-key.md', HOW_TO, 'openssl req -x509'),
  ...rowsOf('docs/how-to/update.md', HOW_TO, 'db migrate', 'ln -sfn'),
  ...rowsOf('docs/how-to/production.md', HOW_TO, 'ExecReload', 'ExecStartPost'),
  ...rowsOf('docs/how-to/production.md', 'test/interop/proxy.test.ts', 'proxy_pass', 'upstream issuer'),
  ...rowsOf('docs/how-to/restore-a-backup.md', OPERATING, 'db restore', 'comm -13'),
  ...rowsOf('docs/how-to/restore-a-backup.md', 'test/faults/backup.test.ts', 'revoke-unknown'),
  ...rowsOf(
    'docs/how-to/sign-in.md',
    'test/interop/sign-in.test.ts',
    'new Provider(',
    'vouchsafe init issuer',
    'vouchsafe wallet receive',
  ),
  ...rowsOf('docs/how-to/sign-in.md', 'test/e2e/sign-in.test.ts', '"person"'),
  ...rowsOf(
    'docs/how-to/show-a-credential.md',
    'test/show-a-credential-doc.test.ts',
    'vouchsafe init verifier',
    'VERIFIER_KEY=',
    'wallet receive',
    'wallet present',
  ),
  ...rowsOf('docs/how-to/trust-anchor.md', HOW_TO, '-fingerprint', 'vouchsafe doctor', 'kill -HUP'),
  ...rowsOf('docs/how-to/write-a-component.md', DOCS, 'init engine', 'cd try/engine', 'visitors.ts <<', 'CONTRACT='),
  ...rowsOf('docs/how-to/write-a-component.md', DOCS, 'sleep 3', 'visitors.test.ts', 'sed -i.old'),
  ...rowsOf('docs/how-to/write-a-component.md', DOCS, 'notice.ts <<', 'notice.test.ts <<'),
  ...rowsOf('docs/issuing.md', DOCS, 'CONFIGURATION=', 'QUERY='),
  ...rowsOf('docs/issuing.md', APPLICATION, 'driving_privileges', '"org.iso.18013.5.1": { "given_name"'),
  ...rowsOf(
    'docs/issuing.md',
    APPLICATION,
    '{ "credential_dataset": {',
    'key_attestations_required',
    '"endpoint": "token"',
  ),
  ...rowsOf(
    'docs/operating.md',
    OPERATING,
    'openssl req -new',
    'vouchsafe db backup',
    'conf/database.key)',
    'openssl dgst',
  ),
  ...rowsOf(
    'docs/operating.md',
    OPERATING,
    'sessions?status=',
    '"failed_checks"',
    '/events/$SESSION_ID',
    'retry: 2000',
  ),
  ...rowsOf('docs/operating.md', OPERATING, 'vouchsafe audit export'),
  ...rowsOf('docs/operating.md', 'test/e2e/postgresql-doc.test.ts', 'create role'),
  ...rowsOf('docs/operating.md', 'test/faults/postgresql-copy.test.ts', 'vouchsafe db copy'),
  ...rowsOf('docs/server-library.md', LIBRARY, 'createIssuerClient', 'watchSession', 'createVerifierClient'),
  ...rowsOf('docs/server-library.md', LIBRARY, 'nodeCallbackHandler'),
  ...rowsOf('docs/verifying.md', OPERATING, 'authorityKeyIdentifier'),
  ...rowsOf('docs/verifying.md', 'src/verifier/digital-credentials.test.ts', '"origin"', 'navigator.credentials'),
  ...rowsOf('docs/verifying.md', APPLICATION, '"issuer_certificate"', '"transaction_data"'),
  ...rowsOf('docs/verifying.md', 'test/e2e/session-progress.test.ts', '"endpoint": "authorization-response"'),
  ...rowsOf('docs/verifying.md', 'test/e2e/simulate.test.ts', '"claims": { "credentialSubject": { "given_name": "Bob"'),
  ...rowsOf('docs/verifying.md', 'test/e2e/simulate.test.ts', '"satisfied"'),
  ...rowsOf(
    'examples/library-card/README.md',
    CARD,
    'init verifier',
    'cd try/issuer',
    'cd try/verifier',
    'cd examples',
  ),
  ...rowsOf('examples/library-card/README.md', CARD, 'wallet receive', 'wallet present'),
]

/** Pages of which one test runs every block. */
export const runWhole: Readonly<Record<string, string>> = {
  'docs/explanation/issuing-messages.md': WALK,
  'docs/explanation/verifying-messages.md': WALK,
}

export const unrun: readonly UnrunRow[] = [
  { page: 'README.md', has: 'npm start', because: 'a test runs in a clone, by npm test' },
  { page: 'docs/tutorial.md', has: 'npm start', because: 'a test runs in a clone, by npm test' },
  ...[
    'docker build',
    '--wait',
    '--signal HUP',
    'mkdir -p backup',
    'db restore',
    'helm install',
    'rollout',
    'job.args',
    'kubectl exec',
  ].map((has) => ({
    page: 'docs/how-to/containers.md',
    has,
    because: 'it needs a container engine or a cluster',
  })),
  ...['docs/how-to/production.md', 'docs/how-to/update.md'].map((page) => ({
    page,
    has: 'npm install',
    because: 'it installs a package',
  })),
  { page: 'docs/how-to/update.md', has: 'systemctl', because: 'it restarts a service of the machine' },
  { page: 'docs/how-to/production.md', has: 'useradd', because: 'it makes a user of the machine' },
  { page: 'docs/how-to/production.md', has: 'systemctl', because: 'it starts a service of the machine' },
  { page: 'docs/operating.md', has: 'npm pack ', because: 'it installs a package from the registry' },
]
