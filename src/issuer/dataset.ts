/** The dataset of a session: which members each format uses, and whether they fit the configurations. */
import { isObject, type Json, type JsonObject, memberOf } from '../codec/json.ts'
import type { Configuration, CredentialFormat, DatasetMembers } from '../credential/format.ts'
import { datasetRules } from '../credential/formats.ts'
import { pathText } from '../protocol/claim-path-text.ts'
import { refuse } from '../protocol/error.ts'
import { refuseMissingClaim } from '../protocol/mandatory-claim.ts'
import { refuseMisspeltMember } from '../protocol/misspelt.ts'
import type { SessionDataset } from './collections.ts'

/**
 * Refuses with `invalid_request` and the path a dataset that does not fit one of the configurations, and a member that
 * none of their formats uses.
 */
export function refuseUnfittingDataset(dataset: JsonObject, configurations: readonly Configuration[]): void {
  const formats = configurations.map(({ format }) => format)
  refuseUnusedMember(dataset, formats)
  for (const configuration of configurations) {
    const { format } = configuration
    const part = datasetPart(dataset, format, formats)
    format.refuseInvalidDataset(part, configuration)
    if (Object.keys(part).length === 0 && Object.keys(dataset).length > 0) refuseEmpty(configuration)
    // A mandatory claim that is misspelt is told as that, since the name shows what to mend.
    refuseMisspeltClaims(format.claimsOf(part), configuration)
    refuseUnlessComplete(format.claimsOf(part), configuration)
  }
}

/**
 * Refuses the dataset of a session like {@link refuseUnfittingDataset}. Where each configuration has its own, that must
 * fit this configuration alone. Ignores ids of unknown configurations.
 */
export async function refuseUnfittingDatasetByIds(
  context: { readonly loadConfiguration: (id: string) => Promise<Configuration | undefined> },
  dataset: SessionDataset,
  configurationIds: readonly string[],
): Promise<void> {
  if (!isObject(dataset)) {
    for (const own of dataset) await refuseUnfittingDatasetByIds(context, own.dataset, [own.configurationId])
    return
  }
  const configurations = await Promise.all(configurationIds.map(context.loadConfiguration))
  refuseUnfittingDataset(
    dataset,
    configurations.filter((configuration) => configuration !== undefined),
  )
}

/**
 * Returns the members of a dataset that one format of a session uses: `credentialSubject` for W3C formats, the
 * namespaces for mdoc, and the other members for SD-JWT VC, or `credentialSubject` if there are no others. Returns the
 * whole dataset if all formats of the session use the same members.
 */
export function datasetPart(
  dataset: JsonObject,
  { datasetMembers }: CredentialFormat,
  formats: readonly CredentialFormat[],
): JsonObject {
  if (formats.every((format) => format.datasetMembers === datasetMembers)) return dataset
  const part = membersOf(dataset, datasetMembers)
  const isSubject = datasetMembers === 'claims' && Object.keys(part).length === 0
  return isSubject ? membersOf(dataset, 'credentialSubject') : part
}

function membersOf(dataset: JsonObject, kind: DatasetMembers): JsonObject {
  return Object.fromEntries(Object.entries(dataset).filter(([name, value]) => kindOfMember(name, value) === kind))
}

/**
 * Returns the kind of a dataset member, if the session has several formats. A namespace must then have a dot in its
 * name, which an mdoc alone does not require.
 */
function kindOfMember(name: string, value: Json): DatasetMembers {
  if (name === 'credentialSubject') return name
  return name.includes('.') && isObject(value) ? 'namespaces' : 'claims'
}

/**
 * Refuses a member that no format uses, if the session has several formats. For a single format, its
 * `refuseInvalidDataset` does this.
 */
function refuseUnusedMember(dataset: JsonObject, formats: readonly CredentialFormat[]): void {
  if (formats.length === 1) return
  const usedMembers = new Set(formats.flatMap((format) => Object.keys(datasetPart(dataset, format, formats))))
  const unusedMember = Object.keys(dataset).find((name) => !usedMembers.has(name))
  if (unusedMember === undefined) return
  const rule = datasetRules.join(', ')
  refuse(
    'invalid_request',
    `${pathText(['credential_dataset', unusedMember])}: no format of this session takes it; ${rule}`,
  )
}

function refuseEmpty({ formatId }: Configuration): never {
  return refuse(
    'invalid_request',
    `credential_dataset: it has no claims for the format ${formatId}; add some beside the members of other formats`,
  )
}

/**
 * Refuses with `invalid_request` a dataset without a mandatory claim, or with null for it. Claims that the issuer
 * writes itself need not be there. OpenID4VCI 1.0, Claims Description.
 */
function refuseUnlessComplete(claims: JsonObject, configuration: Configuration): void {
  for (const { path, mandatory } of configuration.claims) {
    if (mandatory !== true || configuration.format.sourceOf(path, configuration) === 'issuer') continue
    refuseMissingClaim(claims, path, 'a credential configuration')
  }
}

/** Refuses with `invalid_request` an undeclared claim whose name resembles a declared claim that is missing. */
function refuseMisspeltClaims(claims: JsonObject, configuration: Configuration): void {
  const declaredNames = new Map<string, { readonly parent: readonly string[]; readonly names: string[] }>()
  for (const { path } of configuration.claims) {
    for (const [index, name] of path.entries()) {
      const parent = path.slice(0, index)
      if (typeof name !== 'string' || !parent.every((step) => typeof step === 'string')) break
      const key = JSON.stringify(parent)
      const siblings = declaredNames.get(key) ?? { parent, names: [] }
      siblings.names.push(name)
      declaredNames.set(key, siblings)
    }
  }
  for (const { parent, names } of declaredNames.values()) {
    const object = parent.reduce<Json | undefined>((value, name) => memberOf(value, name), claims)
    refuseMisspeltMember(object, names, pathText(['credential_dataset', ...parent]))
  }
}
