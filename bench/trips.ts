/**
 * How many files and functions of src/ does a request run through? Requests run in this process, with SQLite, a bearer
 * token and one JWT proof for a `jwt_vc_json-ld`; each trip is made twice, and the second counts, so that no start of a
 * module and no first look-up does.
 */
import { ISSUER_URL, type Services, startServices } from '../test/support/services.ts'
import {
  call,
  codeOf,
  declare,
  fetchNonce,
  GRANT,
  holderSigner,
  issueCredential,
  keyProof,
  postForm,
  presentationOf,
  redeem,
  requestCredential,
  startIssuance,
  startVerification,
} from '../test/support/wire.ts'
import { startCoverage, type Trace } from './coverage.ts'
import { show, table, type Verdict } from './report.ts'

/**
 * The maximum number of files of the service's own folders for the requests that somebody new follows. Shared folders
 * are not bounded (docs/decisions/0013-files-of-a-request.md).
 */
const OWN_FILES = {
  'credential request': { folders: ['issuer'], max: 17 },
  presentation: { folders: ['verifier', 'check'], max: 18 },
} as const

/** Prepares everything up to the request that is traced, and gives what sends it. */
type Trip = (services: Services) => Promise<() => Promise<unknown>>

const trips: Readonly<Record<string, Trip>> = {
  'offer and token request': tokenTrip,
  'credential request': credentialTrip,
  presentation: presentationTrip,
  revocation: revocationTrip,
  'start-up of both services': () => Promise.resolve(startUp),
}

/** The folders of src/, those of the frame that every request runs through apart. */
const FRAME = 'http'
const FOLDERS = ['issuer', 'verifier', 'credential', 'codec', 'keys', 'protocol', 'store', 'check', 'async', 'event']

/** Measures the trips, and names the files of each where `words` has the word `files`. */
export async function measureTrips(words: readonly string[]): Promise<Verdict> {
  const services = await startServices()
  const trace = await startCoverage()
  const results: Record<string, Trace> = {}
  for (const [name, prepare] of Object.entries(trips)) {
    await (await prepare(services))()
    results[name] = await trace(await prepare(services))
  }
  await services.close()
  const head = ['trip', 'files', 'named functions', 'calls', ...FOLDERS, `beside, ${FRAME}`]
  show(table(head, Object.entries(results).map(rowOf)))
  if (words.includes('files')) {
    for (const [name, { files }] of Object.entries(results)) show([name, ...files].join('\n  '))
  }
  const targets = Object.entries(OWN_FILES).map(([name, { folders, max }]) => {
    const count = countFiles(results[name], folders)
    const target = `${name}: at most ${max} files of ${folders.join('/, ')}/`
    return { target, reached: count <= max, figure: `${count} files` }
  })
  return { section: 'trips', options: {}, results, targets }
}

function rowOf([name, trace]: readonly [string, Trace]): readonly string[] {
  const { namedFunctions, calls } = trace
  const counts = [...FOLDERS, FRAME].map((folder) => countFiles(trace, [folder]))
  return [name, ...[filesBeside(trace).length, namedFunctions, calls, ...counts].map(String)]
}

/** Lists the files that a trip runs through beside those of the frame. */
function filesBeside({ files }: Trace): readonly string[] {
  return files.filter((file) => !file.startsWith(`${FRAME}/`))
}

function countFiles({ files }: Pick<Trace, 'files'> = { files: [] }, folders: readonly string[]): number {
  return files.filter((file) => folders.some((folder) => file.startsWith(`${folder}/`))).length
}

async function tokenTrip(services: Services) {
  const { sessionId } = await startIssuance(services)
  return async () => {
    const form = { grant_type: GRANT, 'pre-authorized_code': await codeOf(services, sessionId) }
    wantStatus(200, await postForm(services, `${ISSUER_URL}/auth/token-endpoint/${sessionId}`, form))
  }
}

/** Prepares the request that a wallet sends for a credential of a new session. */
async function preparedRequest(services: Services) {
  const id = await declare(services)
  const { sessionId } = await startIssuance(services, { credential_configurations: [id] })
  const token = await redeem(services, sessionId)
  const nonce = await fetchNonce(services, sessionId)
  const proof = { holder: await holderSigner(), nonce, audience: `${ISSUER_URL}/${sessionId}` }
  const jwt = await keyProof(proof, services.clock.now)
  return { sessionId, token, body: { credential_configuration_id: id, proofs: { jwt: [jwt] } } }
}

async function credentialTrip(services: Services) {
  const { token, body } = await preparedRequest(services)
  return async () => wantStatus(200, await requestCredential(services, token, body))
}

async function presentationTrip(services: Services) {
  const holder = await holderSigner()
  const credential = await issueCredential(services, holder)
  const { request } = await startVerification(services)
  const presentation = await presentationOf(credential, holder, request, { now: services.clock.now })
  const form = { vp_token: JSON.stringify({ card: [presentation] }), state: request.state }
  return async () => wantStatus(200, await postForm(services, request.response_uri, form))
}

async function revocationTrip(services: Services) {
  const { sessionId, token, body } = await preparedRequest(services)
  wantStatus(200, await requestCredential(services, token, body))
  return async () => wantStatus(200, await call(services, `${ISSUER_URL}/credential-status/revoke/${sessionId}`, {}))
}

async function startUp(): Promise<void> {
  const services = await startServices()
  await services.close()
}

function wantStatus(status: number, response: Response): void {
  if (response.status !== status) throw new Error(`${response.url}: ${response.status}, and not ${status}`)
}
