/**
 * Runs plans of the OpenID Foundation's conformance suite against services that this script starts:
 * `npm run suite -- --suite https://localhost:8443 issuer-haip`. Words after the name of the target choose modules:
 * those that have each of these words in the names of module, plan and variants. The exit status is 1 where a module
 * failed.
 */
import { parseArgs } from 'node:util'
import { type ModuleOutcome, SuiteClient, type SuitePlan, type SuiteTarget } from './suite-client.ts'
import { startIssuer } from './suite-issuer.ts'
import { startIssuerByHaip } from './suite-issuer-haip.ts'
import { startVerifiers } from './suite-verifier.ts'

const TARGETS: Readonly<Record<string, (suite: URL, mdocIssuerFile?: string) => Promise<SuiteTarget>>> = {
  issuer: startIssuer,
  'issuer-haip': startIssuerByHaip,
  verifier: startVerifiers,
}

/** `REVIEW`: a person has to look at a picture. */
const GOOD_RESULTS = ['PASSED', 'WARNING', 'REVIEW', 'SKIPPED']

// Suite and services have certificates that they made themselves.
process.env.NODE_TLS_REJECT_UNAUTHORIZED = '0'
// The services end with this process, however that ends.
for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => process.exit(1))

const { values, positionals } = parseArgs({
  options: {
    suite: { type: 'string', default: 'https://localhost:8443' },
    alias: { type: 'string', default: 'vouchsafe' },
    'mdoc-issuer': { type: 'string' },
  },
  allowPositionals: true,
})
const [name = '', ...words] = positionals
const start = TARGETS[name]
if (start === undefined) throw new Error(`name what to try, one of ${Object.keys(TARGETS).join(', ')}`)
if (values['mdoc-issuer'] !== undefined && start !== startVerifiers) throw new Error('--mdoc-issuer is for verifier')
const suite = new SuiteClient(new URL(values.suite))
print(`suite ${await suite.fetchVersion()}`)
const target = await start(new URL(values.suite), values['mdoc-issuer'])
try {
  let count = 0
  for (const plan of target.plans) count += await runPlan(plan)
  if (count === 0) throw new Error(`no module has all of these words: ${words.join(' ')}`)
} finally {
  await target.close()
}

/** Runs the chosen modules of a plan, and returns their number. Sets the exit status where one of them failed. */
async function runPlan(plan: SuitePlan): Promise<number> {
  const title = `${plan.name} ${Object.values(plan.variant).join(' ')}`
  const { id, modules } = await suite.createPlan(plan, values.alias)
  const chosen = modules.filter(({ testModule, variant = {} }) => {
    const text = [title, testModule, ...Object.values(variant)].join(' ')
    return words.every((word) => text.includes(word))
  })
  if (chosen.length === 0) return 0
  print(`\n${title}: ${chosen.length} of ${modules.length} modules, plan ${id}`)
  const outcomes: ModuleOutcome[] = []
  for (const module of chosen) {
    const outcome = await suite.runModule(id, module, plan.answer)
    outcomes.push(outcome)
    print([`${outcome.result} ${outcome.module} ${outcome.id}`, ...outcome.remarks].join('\n    '))
  }
  const results = [...new Set(outcomes.map(({ result }) => result))]
  print(results.map((each) => `${outcomes.filter(({ result }) => result === each).length} ${each}`).join(', '))
  if (results.some((result) => !GOOD_RESULTS.includes(result))) process.exitCode = 1
  return chosen.length
}

function print(text: string): void {
  process.stdout.write(`${text}\n`)
}
