/** Checks whether a service can listen at its address, and be reached at its `baseUrl`. */
import { findAddressMistakes } from '../../config/address.ts'
import { type MetricsAddress, resolveManagement } from '../../config/management.ts'
import { issuerTitle } from '../../issuer/config.ts'
import { makeDocumentPaths } from '../../issuer/issuer-addresses.ts'
import { isLoopback, isPrivateHost } from '../../protocol/private-host.ts'
import { now } from '../effects.ts'
import { isMarkedOpen } from '../embedded-database/open-lock.ts'
import {
  chooseDefaultHost,
  describeHostProblem,
  findLanAddress,
  findListenProblem,
  HOST_OF_CONTAINER,
  isInContainer,
} from '../network/network.ts'
import { ANSWER_MS, describeListener, fetchTitle, servesMetrics } from '../network/who-listens.ts'
import { type Finding, makeFinding } from './finding.ts'
import { clockFinding } from './machine.ts'
import { isOwnListener, type ServiceStart } from './own-listener.ts'

export interface ServiceAddress {
  readonly baseUrl: string | undefined
  /** The port; undefined if the setting is invalid. */
  readonly port: number | undefined
  readonly host: string | undefined
  /** The setting for the port of metrics; undefined if it is absent or invalid. */
  readonly management: Parameters<typeof resolveManagement>[0] | undefined
  /** The title of the service's OpenAPI document, by which it is recognized. */
  readonly title: string
  /** The start of the service, by which its process is recognized. */
  readonly started: ServiceStart
  /** The file of the embedded database, which a running service keeps open; undefined for another database. */
  readonly databaseFile: string | undefined
}

/** The title of an engine's OpenAPI document. Phones do not call engines. */
export const ENGINE_TITLE = 'Vouchsafe execution engine'

/** Returns the findings about the address and `baseUrl` of a service. */
export async function findAddressFindings(address: ServiceAddress): Promise<Finding[]> {
  const { baseUrl } = address
  const usable = baseUrl !== undefined && findAddressMistakes(baseUrl).length === 0
  const reachability = usable ? await reachAddress(baseUrl, address.title) : undefined
  return [
    ...(usable ? [...findLoopbackFindings(address, baseUrl), ...findMismatchFindings(baseUrl, address.port)] : []),
    ...(reachability ?? []),
    ...(await findPortFindings(address, reachability?.[0]?.outcome === 'ok')),
  ]
}

function findLoopbackFindings({ port, title }: ServiceAddress, baseUrl: string): Finding[] {
  if (!isLoopback(new URL(baseUrl).hostname)) return []
  const who = title === ENGINE_TITLE ? 'others cannot' : 'a phone cannot'
  const text = `${baseUrl} means this machine alone: ${who} reach it. Name ${describeReachableAddress(port)}`
  return [makeFinding('baseUrl', 'warning', text)]
}

function describeReachableAddress(port: number | undefined): string {
  if (isInContainer()) return HOST_OF_CONTAINER
  const address = findLanAddress()
  const example =
    address === undefined || port === undefined ? '' : `; on this network that is http://${address}:${port}`
  return `an address of yours${example}`
}

/**
 * Returns a warning if the ports of `baseUrl` and of the service differ in a private network, where a proxy is rare.
 */
function findMismatchFindings(baseUrl: string, port: number | undefined): Finding[] {
  const { protocol, hostname, port: explicitPort } = new URL(baseUrl)
  const expectedPort = Number(explicitPort || (protocol === 'https:' ? 443 : 80))
  if (!isPrivateHost(hostname) || port === undefined || port === 0 || port === expectedPort) return []
  const published = isInContainer() ? `, or where the container's port is published as ${expectedPort}` : ''
  const text = `${baseUrl} is port ${expectedPort}, and the service listens on ${port}: right only behind a proxy${published}`
  return [makeFinding('baseUrl', 'warning', text)]
}

/** Requests `baseUrl`. Returns findings about the response and about the clock of its server. */
async function reachAddress(baseUrl: string, title: string): Promise<Finding[]> {
  const url = `${baseUrl}/health/live`
  try {
    const response = await fetch(url, { signal: AbortSignal.timeout(ANSWER_MS), redirect: 'manual' })
    const serverTime = new Date(response.headers.get('date') ?? Number.NaN)
    const clock = Number.isNaN(serverTime.getTime()) ? [] : [clockFinding(new URL(baseUrl).host, serverTime, now())]
    if (!response.ok) {
      const isProxy = [502, 503, 504].includes(response.status)
      const text = `${url} answers ${response.status}: ${isProxy ? 'a proxy is there, and reaches no service' : 'something else is there'}`
      return [makeFinding('baseUrl', 'warning', text)]
    }
    const actualTitle = (await fetchTitle(baseUrl)) ?? title
    if (actualTitle !== title) {
      const text = `${baseUrl} is answered by a ${actualTitle}, and not by a ${title}`
      return [makeFinding('baseUrl', 'problem', text)]
    }
    const metadata = title === issuerTitle ? await findMetadataFindings(baseUrl) : []
    return [makeFinding('baseUrl', 'ok', `${url} answers`), ...metadata, ...clock]
  } catch (error) {
    return [{ subject: 'baseUrl', ...describeUnreached(new URL(baseUrl).hostname, url, error) }]
  }
}

const READ_THERE = 'wallets read the metadata of the issuer there'
const PASS_ON = 'have the proxy pass /.well-known/ on to the service'

/** Returns a problem if the issuer's metadata cannot be read where wallets read it. */
async function findMetadataFindings(baseUrl: string): Promise<Finding[]> {
  const [path] = makeDocumentPaths('openid-credential-issuer')
  const url = `${baseUrl}${path}`
  const problem = await fetch(url, { signal: AbortSignal.timeout(ANSWER_MS), redirect: 'manual' }).then(
    ({ ok, status }) => (ok ? undefined : `answers ${status}: ${READ_THERE}; ${adviceOn(status)}`),
    (error: unknown) => `gives no answer (${codeOf(error)}): ${READ_THERE}; ${PASS_ON}`,
  )
  return problem === undefined ? [] : [makeFinding('baseUrl', 'problem', `${url} ${problem}`)]
}

/** Returns what to do about the status of an answer in place of the metadata. */
function adviceOn(status: number): string {
  if (status === 429) return 'a rate limit, of the service or a proxy, refuses this machine'
  return status < 500 ? PASS_ON : 'the service or a proxy fails; look at the other findings, and at its log'
}

function describeUnreached(host: string, url: string, error: unknown): Pick<Finding, 'outcome' | 'text'> {
  const code = codeOf(error)
  if (code === 'ENOTFOUND' || code === 'EAI_AGAIN') {
    const text = `the host ${host} cannot be resolved here (${code}): nobody reaches the service until it has an address`
    return { outcome: 'warning', text }
  }
  if (code === 'ECONNREFUSED') return { outcome: 'note', text: `nothing answers at ${url} yet` }
  if (code === 'TimeoutError') {
    return {
      outcome: 'warning',
      text: `no answer from ${url} within ${ANSWER_MS / 1000} s; a firewall, or another network?`,
    }
  }
  return { outcome: 'warning', text: `${url} cannot be reached from here (${code})` }
}

/** Returns the code of the system for a failed `fetch`, or the name of the error. */
function codeOf(error: unknown): string {
  const { name, cause } = error as { name: string; cause?: { code?: string } }
  return cause?.code ?? name
}

/** Returns the findings about the ports of the service and of its metrics. */
async function findPortFindings(address: ServiceAddress, answers: boolean): Promise<Finding[]> {
  const { port, management } = address
  const own = port === undefined ? undefined : await findOwnPortFinding({ ...address, port }, answers)
  const findings = own === undefined ? [] : [own.finding]
  if (management === undefined || management.port === port || management.port === 0) return findings
  return [...findings, await findMetricsFinding(resolveManagement(management), address.started, own?.holder)]
}

/**
 * The holder of the service's port: a process that was started as the service; one of its kind beside a process that
 * has its database open, which on every system is the service; or one of its kind, which it may be.
 */
type PortHolder = 'its process' | 'its database' | 'its kind'

async function findOwnPortFinding(
  { port, host, title, started, databaseFile }: ServiceAddress & { readonly port: number },
  answers: boolean,
): Promise<{ readonly finding: Finding; readonly holder?: PortHolder }> {
  if (port === 0)
    return { finding: portFinding('warning', '0 is a port that the system picks, so that baseUrl cannot name it') }
  const finding = await findListenFinding({ port, host: host ?? (await chooseDefaultHost()) })
  if (finding !== undefined) return { finding }
  const runningTitle = (await fetchTitle(`http://127.0.0.1:${port}`)) ?? (answers ? title : undefined)
  const isOfKind = runningTitle === title
  if (isOwnListener(port, started)) return { finding: ownPortFinding(port, isOfKind), holder: 'its process' }
  if (isOfKind && databaseFile !== undefined && (await isMarkedOpen(databaseFile)))
    return { finding: ownPortFinding(port, true), holder: 'its database' }
  if (isOfKind) {
    const otherwise = 'if it is not this one, change port and baseUrl, or stop the other'
    return { finding: portFinding('warning', `${port} is in use by a ${title}; ${otherwise}`), holder: 'its kind' }
  }
  const program = runningTitle ? `a ${runningTitle}` : 'another program'
  return {
    finding: portFinding('problem', `${port} is in use by ${program}; change port and baseUrl, or stop that one`),
  }
}

/** Returns the finding about the port for metrics, which the holder of the service's port may have too. */
async function findMetricsFinding(
  address: MetricsAddress,
  started: ServiceStart,
  holder: PortHolder | undefined,
): Promise<Finding> {
  const within = 'management.'
  const finding = await findListenFinding({ ...address, within })
  if (finding !== undefined) return finding
  const { port } = address
  const isOwn =
    isOwnListener(port, started) || (holder === 'its database' && (await servesMetrics(address, started.service)))
  if (isOwn) return { ...ownPortFinding(port, true), subject: `${within}port` }
  if (holder === 'its kind') {
    const text = `${port} is in use, as is port; if that is not this service, change both`
    return makeFinding(`${within}port`, 'warning', text)
  }
  const text = `${port} is in use by ${await describeListener(port)}; change it, or stop that one`
  return makeFinding(`${within}port`, 'problem', text)
}

/** Returns whether a service can listen at an address; undefined if the port is in use. */
async function findListenFinding({
  port,
  host,
  within = '',
}: MetricsAddress & { readonly within?: string }): Promise<Finding | undefined> {
  const problem = await findListenProblem(port, host)
  if (problem === 'EADDRINUSE') return undefined
  const subject = `${within}port`
  if (problem === undefined) return makeFinding(subject, 'ok', `${port} is free`)
  const hostProblem = describeHostProblem(problem, host)
  if (hostProblem !== undefined) return makeFinding(`${within}host`, 'problem', hostProblem)
  const text =
    problem === 'EACCES'
      ? `${port}: this user may not listen there; take one above 1023`
      : `${port}: nobody can listen there (${problem})`
  return makeFinding(subject, 'problem', text)
}

/** Returns the finding about a port at which the service itself listens. */
function ownPortFinding(port: number, answers: boolean): Finding {
  const text = `${port} is in use by this service, which runs already`
  return answers
    ? portFinding('ok', text)
    : portFinding('warning', `${text} and gives no answer at 127.0.0.1 nor at baseUrl; see its log`)
}

function portFinding(outcome: Finding['outcome'], text: string): Finding {
  return makeFinding('port', outcome, text)
}
