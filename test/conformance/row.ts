/** A row is one thing that others ask of Vouchsafe, with the tests that show it; docs/conformance.md has the sums. */
export interface Row {
  readonly id: string
  /** The demand in a few words. */
  readonly asks: string
  /** The specification and its heading, several of them separated by semicolons. */
  readonly source: string
  /** Each test is a file below the root and a title as the source writes it. */
  readonly tests?: readonly ShownBy[]
  /** The reason why no test shows the row: Vouchsafe does not offer what it asks for. */
  readonly notOffered?: string
}

export type ShownBy = readonly [file: string, title: string]

export interface Section {
  readonly heading: string
  /** The file below the root that has the rows. */
  readonly file: string
  readonly about: string
  readonly rows: readonly Row[]
}

/** The test files that most rows name. */
export const at = {
  admin: 'test/attacks/issuer-admin.test.ts',
  exposure: 'test/attacks/exposure.test.ts',
  batch: 'test/attacks/issuer-batch.test.ts',
  deferred: 'test/attacks/issuer-deferred.test.ts',
  proof: 'test/attacks/issuer-proof.test.ts',
  request: 'test/attacks/issuer-request.test.ts',
  token: 'test/attacks/issuer-token.test.ts',
  externalToken: 'test/attacks/issuer-external-token.test.ts',
  txCode: 'test/attacks/issuer-tx-code.test.ts',
  dpop: 'test/attacks/issuer-dpop.test.ts',
  walletAttestation: 'test/attacks/issuer-wallet-attestation.test.ts',
  code: 'test/attacks/issuer-authorization-code.test.ts',
  codeClient: 'test/attacks/issuer-authorization-code-client.test.ts',
  refresh: 'test/attacks/issuer-refresh.test.ts',
  resources: 'test/attacks/resources.test.ts',
  verifier: 'test/attacks/verifier.test.ts',
  holder: 'test/attacks/verifier-holder.ts',
  issuer: 'test/attacks/verifier-issuer.ts',
  credential: 'test/attacks/verifier-credential.ts',
  disclosures: 'test/attacks/verifier-disclosures.ts',
  encrypted: 'test/attacks/verifier-encrypted.test.ts',
  mdocDocument: 'test/attacks/verifier-mdoc-document.ts',
  mdocHolder: 'test/attacks/verifier-mdoc-holder.ts',
  sameDevice: 'test/attacks/verifier-same-device.test.ts',
  digitalCredentials: 'test/attacks/verifier-digital-credentials.test.ts',
  digitalCredentialsRequest: 'src/verifier/digital-credentials.test.ts',
  isoMdoc: 'test/attacks/verifier-iso-mdoc.test.ts',
  attestation: 'test/attacks/issuer-attestation.test.ts',
  response: 'test/attacks/verifier-response.ts',
  session: 'test/attacks/verifier-session.test.ts',
  http: 'test/e2e/http.test.ts',
  httpApiKey: 'test/e2e/http-api-key.test.ts',
  httpBody: 'test/e2e/http-body.test.ts',
  httpWallet: 'test/e2e/http-wallet.test.ts',
  status: 'test/e2e/status.test.ts',
  statusLists: 'test/attacks/verifier-status.test.ts',
  statusFetches: 'test/attacks/verifier-status-fetches.test.ts',
  outbound: 'src/bin/network/outbound.test.ts',
  statusProcesses: 'test/e2e/status-processes.test.ts',
  issuance: 'test/e2e/issuance.test.ts',
  verification: 'test/e2e/verification.test.ts',
  process: 'test/e2e/process.test.ts',
  oidfIssuer: 'test/e2e/oidf-issuer.test.ts',
  oidfIssuerHaip: 'test/e2e/oidf-issuer-haip.test.ts',
  haip: 'test/e2e/haip.test.ts',
  oidfIssuerFapi: 'test/e2e/oidf-issuer-fapi.test.ts',
  oidfVerifier: 'test/e2e/oidf-verifier.test.ts',
  config: 'src/config/common.test.ts',
  fuzz: 'test/fuzz/fuzz.test.ts',
} as const
