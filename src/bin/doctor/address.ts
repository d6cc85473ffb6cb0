/** Whether a service could listen where it should, and be found where it says. */
import { findAddressMistakes } from '../../config/address.ts'
import { isLoopback, isPrivateHost } from '../../protocol/private-host.ts'
import { defaultHost, lanAddress, listenProblem } from '../network.ts'
import { ANSWER_MS, titleAt } from '../who-listens.ts'
import type { Finding } from './finding.ts'

export interface Address {
  readonly baseUrl: string | undefined
  /** Undefined: the setting is there and no port. */
  readonly port: number | undefined
  readonly host: string | undefined
  /** As in the title of the service's OpenAPI document. */
  readonly title: string
}

/** Its callers are no phones. */
const ENGINE = 'Vouchsafe execution engine'

export async function addressFindings(address: Address): Promise<Finding[]> {
  const { baseUrl } = address
  const usable = baseUrl !== undefined && findAddressMistakes(baseUrl).length === 0
  const reached = usable ? await reach(baseUrl, address.title) : undefined
  return [
    ...(usable ? [...loopbackFindings(address, baseUrl), ...mismatchFindings(baseUrl, address.port)] : []),
    ...(reached ? [reached] : []),
    ...(await portFindings(address, reached?.outcome === 'ok')),
  ]
}

function loopbackFindings({ port, title }: Address, baseUrl: string): Finding[] {
  if (!isLoopback(new URL(baseUrl).hostname)) return []
  const address = lanAddress()
  const instead =
    address === undefined || port === undefined ? '' : `; on this network that is http://${address}:${port}`
  const text = `${baseUrl} means this machine alone: ${title === ENGINE ? 'others cannot' : 'a phone cannot'} reach it. Name an address of yours${instead}`
  return [{ subject: 'baseUrl', outcome: 'warning', text }]
}

/** Here, where there is rarely a proxy, both are the same port. */
function mismatchFindings(baseUrl: string, port: number | undefined): Finding[] {
  const { protocol, hostname, port: named } = new URL(baseUrl)
  const wanted = Number(named || (protocol === 'https:' ? 443 : 80))
  if (!isPrivateHost(hostname) || port === undefined || port === 0 || port === wanted) return []
  const text = `${baseUrl} is port ${wanted}, and the service listens on ${port}: right only behind a proxy`
  return [{ subject: 'baseUrl', outcome: 'warning', text }]
}

async function reach(baseUrl: string, title: string): Promise<Finding> {
  const url = `${baseUrl}/health/live`
  try {
    const response = await fetch(url, { signal: AbortSignal.timeout(ANSWER_MS), redirect: 'manual' })
    if (!response.ok) {
      return {
        subject: 'baseUrl',
        outcome: 'warning',
        text: `${url} answers ${response.status}: something else is there`,
      }
    }
    const there = (await titleAt(baseUrl)) ?? title
    return there === title
      ? { subject: 'baseUrl', outcome: 'ok', text: `${url} answers` }
      : { subject: 'baseUrl', outcome: 'problem', text: `${baseUrl} is answered by a ${there}, and not by a ${title}` }
  } catch (error) {
    return { subject: 'baseUrl', ...unreached(new URL(baseUrl).hostname, url, error) }
  }
}

function unreached(host: string, url: string, error: unknown): Pick<Finding, 'outcome' | 'text'> {
  const { name, cause } = error as { name: string; cause?: { code?: string } }
  const code = cause?.code ?? name
  if (code === 'ENOTFOUND' || code === 'EAI_AGAIN') {
    return { outcome: 'problem', text: `the host ${host} cannot be resolved (${code})` }
  }
  if (code === 'ECONNREFUSED') return { outcome: 'note', text: `nothing answers at ${url} yet` }
  if (name === 'TimeoutError') {
    return {
      outcome: 'warning',
      text: `no answer from ${url} within ${ANSWER_MS / 1000} s; a firewall, or another network?`,
    }
  }
  return { outcome: 'warning', text: `${url} cannot be reached from here (${code})` }
}

async function portFindings({ port, host, title }: Address, answers: boolean): Promise<Finding[]> {
  const found = (outcome: Finding['outcome'], text: string): Finding[] => [{ subject: 'port', outcome, text }]
  if (port === undefined) return []
  if (port === 0) return found('warning', '0 is a port that the system picks, so that baseUrl cannot name it')
  const at = host ?? (await defaultHost())
  const problem = await listenProblem(port, at)
  if (problem === undefined) return found('ok', `${port} is free`)
  if (problem === 'EACCES') return found('problem', `${port}: this user may not listen there; take one above 1023`)
  if (problem === 'EADDRNOTAVAIL' || problem === 'EAFNOSUPPORT') {
    return found('problem', `the host ${at} is no address of this machine`)
  }
  if (problem !== 'EADDRINUSE') return found('problem', `${port}: nobody can listen there (${problem})`)
  const running = (await titleAt(`http://127.0.0.1:${port}`)) ?? (answers ? title : undefined)
  if (running === title) {
    const otherwise = 'if it is not this one, change port and baseUrl, or stop the other'
    return found('warning', `${port} is in use by a ${title}; ${otherwise}`)
  }
  const who = running ? `a ${running}` : 'another program'
  return found('problem', `${port} is in use by ${who}; change port and baseUrl, or stop that one`)
}
