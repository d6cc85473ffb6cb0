/** The clients of the services behind the console, which adds their API keys. */
import {
  createIssuerClient,
  createVerifierClient,
  type IssuerClient,
  type IssuerSchemas,
  type VerifierClient,
} from '../sdk/server/index.ts'

/** The key that the page sends, whatever it is: the console replaces it. */
const NO_KEY = 'kept-by-the-console'
const ISSUER_METADATA = 'api/issuer/.well-known/openid-credential-issuer'

export const issuerClient: IssuerClient = createIssuerClient({ url: 'api/issuer', apiKey: NO_KEY })
export const verifierClient: VerifierClient = createVerifierClient({ url: 'api/verifier', apiKey: NO_KEY })

export type ClientName = 'issuer' | 'verifier'

/** An execution engine, and whether the console has an API key of it. */
export interface ShownEngine {
  readonly url: string
  readonly has_key: boolean
}

/** The services that there are, with their addresses. */
export interface Services extends Partial<Readonly<Record<ClientName, { readonly url: string }>>> {
  readonly engines: readonly ShownEngine[]
}

export async function readServices(): Promise<Services> {
  return (await readJson('api/services')) as Services
}

/** Tests whether the service can work; false too when it cannot be reached. */
export async function isReady(name: ClientName): Promise<boolean> {
  try {
    const response = await fetch(`api/${name}/health/ready`)
    // A body that nobody reads keeps its connection.
    await response.arrayBuffer()
    return response.ok
  } catch {
    return false
  }
}

/** A credential configuration as the issuer's metadata has it. OpenID4VCI 1.0, Credential Issuer Metadata. */
export type OfferedConfiguration = Pick<
  IssuerSchemas['CredentialConfiguration'],
  'format' | 'vct' | 'doctype' | 'credential_definition' | 'credential_metadata'
>

export type OfferedClaim = IssuerSchemas['ClaimDescription']

/** How a card looks; somebody may be typing it, so that any member may be missing. */
export type Display = Partial<IssuerSchemas['CredentialDisplay']>

/** Reads the configurations of the issuer, by id. */
export async function readConfigurations(): Promise<ReadonlyMap<string, OfferedConfiguration>> {
  const metadata = (await readJson(ISSUER_METADATA)) as {
    readonly credential_configurations_supported?: Record<string, OfferedConfiguration>
  }
  return new Map(Object.entries(metadata.credential_configurations_supported ?? {}))
}

/** Reads the identifier of the issuer, which its offers begin with; undefined when the console has no issuer. */
export async function readIssuerIdentifier(): Promise<string | undefined> {
  if ((await readServices()).issuer === undefined) return undefined
  return ((await readJson(ISSUER_METADATA)) as { readonly credential_issuer?: string }).credential_issuer
}

async function readJson(path: string): Promise<unknown> {
  const response = await fetch(path)
  const value = (await response.json()) as { readonly error_description?: string }
  if (response.ok) return value
  throw new Error(value.error_description ?? `${path}: ${response.status}`)
}
