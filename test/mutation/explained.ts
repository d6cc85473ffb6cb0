/** Mutants that no test can tell from the source, each with the reason. */
interface ExplainedMutant {
  readonly file: string
  /** The replaced text and its replacement, with every white space as one. */
  readonly before: string
  readonly after: string
  /** The other text of the line, where `before` by itself would be too many places. */
  readonly within?: string
  readonly why: string
}

const SCHEMAS_ARE_OURS =
  'the schemas are right by the tests: this saves the time to look at them or to shorten their code'
const MISTAKES_STAY_OURS =
  'nothing else is thrown there; it keeps a mistake of ours from being called one of the caller'

export const explained: readonly ExplainedMutant[] = [
  {
    file: 'src/credential/evidence.ts',
    before: String.raw`/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$/`,
    after: String.raw`/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)/`,
    why: 'the Date of Node reads no such text with more behind it either; that is its own choice, and the rule is ours',
  },
  {
    file: 'src/credential/mso-mdoc/issue.ts',
    before: '0',
    after: '(0 + 1)',
    within: 'keys[a]',
    why: 'what is sorted are the indices of keys, so that each has one',
  },
  {
    file: 'src/credential/mso-mdoc/issue.ts',
    before: "''",
    after: "'mutated'",
    within: "'doctype')",
    why: 'a configuration without doctype is refused before anything is issued under it',
  },
  {
    file: 'src/credential/mso-mdoc/validation.ts',
    before: '0',
    after: '(0 + 1)',
    within: 'isObject(each)',
    why: 'a namespace that is not an object is refused, however many elements it is taken to have',
  },
  {
    file: 'src/credential/sd-jwt.ts',
    before: "''",
    after: "'mutated'",
    within: "credential.split('~', 1)",
    why: 'a text that is split has a first part',
  },
  {
    file: 'src/credential/sd-jwt.ts',
    before: '1',
    after: '(1 + 1)',
    within: "credential.split('~', 1)",
    why: 'only the first part is looked at; the limit saves splitting the rest',
  },
  {
    file: 'src/credential/w3c/members.ts',
    before: String.raw`/\.\d{3}Z$/`,
    after: String.raw`/\.\d{3}Z/`,
    why: 'toISOString has its fraction at the end and nowhere else',
  },
  {
    file: 'src/keys/hpke.ts',
    before: '!(cause instanceof HpkeError)',
    after: 'false',
    why: MISTAKES_STAY_OURS,
  },
  {
    file: 'src/protocol/claim-path.ts',
    before: 'outer.length <= inner.length && outer.every((step, at) => step === inner[at])',
    after: 'outer.every((step, at) => step === inner[at])',
    why: 'a longer path has a step where the shorter has none, and no step is undefined',
  },
  {
    file: 'src/protocol/claim-path.ts',
    before: '<',
    after: '<=',
    within: 'i < value.length',
    why: 'the element after the last is undefined, and what is undefined is not taken',
  },
  {
    file: 'src/protocol/dcql-authorities.ts',
    before: 'error instanceof MalformedError',
    after: 'true',
    why: MISTAKES_STAY_OURS,
  },
  ...['strict: false,', 'meta: false,', 'validateSchema: false,', ', code: { optimize: false }', 'optimize: false'].map(
    (before) => ({ file: 'src/protocol/json-schema.ts', before, after: '', why: SCHEMAS_ARE_OURS }),
  ),
  { file: 'src/protocol/json-schema.ts', before: 'false', after: 'true', why: SCHEMAS_ARE_OURS },
  {
    file: 'src/protocol/private-host.ts',
    before: "''",
    after: "'mutated'",
    within: 'subnet.split',
    why: 'a text that is split has a first part',
  },
  {
    file: 'src/protocol/transaction-data.ts',
    before: "''",
    after: "'mutated'",
    within: 'HASHES[name]',
    why: 'the name is one of approvalHashes, and those are the names of HASHES',
  },
  {
    file: 'src/verifier/checks/issuer.ts',
    before: "''",
    after: "'mutated'",
    within: 'leaf?.fingerprint ??',
    why: 'a chain without a certificate fails issuer.certificate, and then nobody asks for its path',
  },
  {
    file: 'src/verifier/checks/response.ts',
    before: '>',
    after: '>=',
    within: 'count > 1 && multiple === true',
    why: 'one presentation is right whatever multiple says, by the condition before',
  },
]
