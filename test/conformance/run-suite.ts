/**
 * Runs plans of the OpenID Foundation's conformance suite against services that this script starts:
 * `npm run suite -- --suite https://localhost:8443 issuer-haip`. Words after the name of the target choose modules:
 * those that have each of these words in the names of module, plan and variants.
 */
import { parseArgs } from 'node:util'
import { type ModuleOutcome, SuiteClient, type SuitePlan, type SuiteTarget } from './suite-client.ts'
import { startIssuer } from './suite-issuer.ts'
import { startIssuerByHaip } from './suite-issuer-haip.ts'
import { startVerifiers } from './suite-verifier.ts'

const TARGETS: Readonly<Record<string, (suite: URL) => Promise<SuiteTarget>>> = {
  issuer: startIssuer,
  'issuer-haip': startIssuerByHaip,
  verifier: startVerifiers,
}

// Suite and services have certificates that they made themselves.
process.env.NODE_TLS_REJECT_UNAUTHORIZED = '0'
// The services end with this process, however that ends.
for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => process.exit(1))

const { values, positionals } = parseArgs({
  options: {
    suite: { type: 'string', default: 'https://localhost:8443' },
    alias: { type: 'string', default: 'vouchsafe' },
  },
  allowPositionals: true,
})
const [name = '', ...words] = positionals
const start = TARGETS[name]
if (start === undefined) throw new Error(`which of these is it: ${Object.keys(TARGETS).join(', ')}`)
const suite = new SuiteClient(new URL(values.suite))
print(`suite ${await suite.version()}`)
const target = await start(new URL(values.suite))
try {
  for (const plan of target.plans) await runPlan(plan)
} finally {
  await target.close()
}

async function runPlan(plan: SuitePlan): Promise<void> {
  const title = `${plan.name} ${Object.values(plan.variant).join(' ')}`
  const { id, modules } = await suite.createPlan(plan, values.alias)
  const chosen = modules.filter(({ testModule, variant = {} }) => {
    const text = [title, testModule, ...Object.values(variant)].join(' ')
    return words.every((word) => text.includes(word))
  })
  if (chosen.length === 0) return
  print(`\n${title}: ${chosen.length} of ${modules.length} modules, plan ${id}`)
  const outcomes: ModuleOutcome[] = []
  for (const module of chosen) {
    const outcome = await suite.runModule(id, module, plan.answer)
    outcomes.push(outcome)
    print([`${outcome.result} ${outcome.module} ${outcome.id}`, ...outcome.remarks].join('\n    '))
  }
  const results = [...new Set(outcomes.map(({ result }) => result))]
  print(results.map((each) => `${outcomes.filter(({ result }) => result === each).length} ${each}`).join(', '))
}

function print(text: string): void {
  process.stdout.write(`${text}\n`)
}
