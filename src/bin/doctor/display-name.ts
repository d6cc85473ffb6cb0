/** Checks whether people still see the name that `vouchsafe init` wrote as an example. */
import { isPrivateHost } from '../../protocol/private-host.ts'
import { type CredentialServiceName, credentialServices } from '../service/credential-services.ts'
import type { Settings } from './doctor-input.ts'
import { type Finding, makeFinding } from './finding.ts'

/** Returns a warning if a service that others can reach has the name of the example. */
export function findDisplayNameFindings(service: CredentialServiceName, settings: Settings): Finding[] {
  const { exampleName } = credentialServices[service]
  const [subject, name] =
    service === 'issuer'
      ? ['issuer.display.name', settings.issuer?.display.name]
      : ['clientMetadata.clientName', settings.clientMetadata?.clientName]
  if (name !== exampleName || !isReachable(settings.baseUrl)) return []
  const text = `it is still "${exampleName}", which wallets show to people; write the name of your organization`
  return [makeFinding(subject, 'warning', text)]
}

function isReachable(baseUrl = ''): boolean {
  return URL.canParse(baseUrl) && !isPrivateHost(new URL(baseUrl).hostname)
}
