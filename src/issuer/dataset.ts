/** The dataset of a session: which of its members each format takes, and whether they fit the configurations. */
import { isObject, type Json, type JsonObject, memberOf } from '../codec/json.ts'
import type { Configuration, CredentialFormat, DatasetMembers } from '../credential/format.ts'
import { datasetRules } from '../credential/formats.ts'
import { pathText, selectClaims } from '../protocol/claim-path.ts'
import { refuse } from '../protocol/error.ts'
import { refuseMisspeltMember } from '../protocol/misspelt.ts'

/**
 * Refuses with `invalid_request`, naming the path, a dataset that one of the configurations cannot be filled with, and
 * a member that the formats of none of them take.
 */
export function refuseUnfittingDataset(dataset: JsonObject, configurations: readonly Configuration[]): void {
  const formats = configurations.map(({ format }) => format)
  refuseUnusedMember(dataset, formats)
  for (const configuration of configurations) {
    const { format } = configuration
    const part = datasetPart(dataset, format, formats)
    format.checkDataset(part, configuration)
    if (Object.keys(part).length === 0 && Object.keys(dataset).length > 0) refuseEmpty(configuration)
    refuseUnlessComplete(format.claimsOf(part), configuration)
    refuseMisspeltClaims(format.claimsOf(part), configuration)
  }
}

/** Refuses as {@link refuseUnfittingDataset} does a dataset for those of the configurations that are still there. */
export async function checkDatasetFits(
  { loadConfiguration }: { readonly loadConfiguration: (id: string) => Promise<Configuration | undefined> },
  dataset: JsonObject,
  configurationIds: readonly string[],
): Promise<void> {
  const configurations = await Promise.all(configurationIds.map(loadConfiguration))
  refuseUnfittingDataset(
    dataset,
    configurations.filter((configuration) => configuration !== undefined),
  )
}

/**
 * Returns the members of a dataset that one format of a session takes: W3C formats `credentialSubject`, an mdoc the
 * namespaces, an SD-JWT VC what is neither, or else `credentialSubject`. Where all formats of the session take the
 * same, the dataset is theirs whole.
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
 * Returns which member of a dataset of several formats the claim `name` belongs to. Namespaces must have a dot in their
 * names there, unlike in the dataset of an mdoc alone.
 */
function kindOfMember(name: string, value: Json): DatasetMembers {
  if (name === 'credentialSubject') return name
  return name.includes('.') && isObject(value) ? 'namespaces' : 'claims'
}

/**
 * Refuses a member that no format takes, where there are several; for one alone, `checkDataset` says what does not
 * belong there.
 */
function refuseUnusedMember(dataset: JsonObject, formats: readonly CredentialFormat[]): void {
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

function refuseUnlessComplete(claims: JsonObject, configuration: Configuration): void {
  for (const { path, mandatory } of configuration.claims) {
    if (mandatory === true && 'problem' in selectClaims(claims, path)) {
      refuse(
        'invalid_request',
        `${pathText(['credential_dataset', ...path])}: this claim is mandatory in a credential configuration`,
      )
    }
  }
}

/**
 * Refuses with `invalid_request` a claim that is not declared and has nearly the name of a declared claim that is
 * missing. The credential would have that claim under the wrong name.
 */
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
