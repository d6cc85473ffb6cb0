/** Describes why a request to another server failed, for the operator. */
import { describeCertificateProblem } from '../../protocol/tls-problem.ts'

const SYSTEM: Readonly<Record<string, string>> = {
  ENOTFOUND: 'has no address: look for a mistake in the name, and at the DNS of this machine',
  EAI_AGAIN: 'could not be resolved: look at the DNS of this machine',
  ECONNREFUSED: 'takes no connections: nobody listens there, or a firewall is in between',
  EHOSTUNREACH: 'cannot be reached from this machine: look at its routes and firewalls',
  ENETUNREACH: 'cannot be reached from this machine: look at its routes and firewalls',
  ETIMEDOUT: 'does not answer: it is down, or a firewall is in between',
  ECONNRESET: 'ended the connection before its answer was whole',
  EPIPE: 'ended the connection before its answer was whole',
  EPROTO: 'does not speak TLS there',
}

/** Describes the failure with host and port, but without the path, which may be a secret. */
export function reasonOf(error: unknown, host: string): string {
  const { code = '' } = error as NodeJS.ErrnoException
  const reason = Object.hasOwn(SYSTEM, code) ? SYSTEM[code] : undefined
  if (reason !== undefined) return `${host} ${reason}`
  const certificateProblem = describeCertificateProblem(code, host)
  if (certificateProblem !== undefined) return certificateProblem
  if (code.startsWith('ERR_SSL')) return `${host} does not speak TLS there (${code})`
  if (code.startsWith('HPE_')) return `the answer of ${host} is not HTTP (${code})`
  return `${host} could not be asked${code === '' ? '' : ` (${code})`}`
}
