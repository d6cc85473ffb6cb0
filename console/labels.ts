/** The names of configurations and claims as wallets show them, from the display of a configuration. */
import { pathText } from '../src/protocol/claim-path-text.ts'
import { chooseDisplay } from '../src/protocol/display-language.ts'
import type { Display, OfferedClaim, OfferedConfiguration } from './clients.ts'

/** Returns the label in the language of the browser, or the first one, or the claim's own name. */
export function labelOfClaim({ path, display = [] }: OfferedClaim): string {
  return (
    chooseDisplay(display, navigator.languages)?.name ??
    path.findLast((step) => typeof step === 'string') ??
    pathText(path)
  )
}

/** Returns the labels of the claims of one configuration. Where several have one label, each says where it stands. */
export function labelClaims(claims: readonly OfferedClaim[]): readonly string[] {
  const labels = claims.map(labelOfClaim)
  return claims.map(({ path, display }, index) => {
    const label = labels[index] ?? ''
    if (labels.indexOf(label) === labels.lastIndexOf(label)) return label
    return display === undefined ? pathText(path) : `${label} · ${pathText(path)}`
  })
}

/** Returns the labels of the claims of configurations of a type, by their paths as JSON. */
export function labelsOfType(
  configurations: Iterable<OfferedConfiguration>,
  type: readonly string[],
): ReadonlyMap<string, string> {
  const same = [...configurations].filter((configuration) => typesOf(configuration).some((each) => type.includes(each)))
  const labels = same.flatMap(({ credential_metadata: { claims = [] } = {} }) => {
    const ownLabels = labelClaims(claims)
    return claims.map(({ path }, index) => [JSON.stringify(path), ownLabels[index] ?? ''] as const)
  })
  return new Map(labels)
}

/** Returns the names of the type of a configuration's credentials, without those that every credential has. */
function typesOf({ vct, doctype, credential_definition: definition }: OfferedConfiguration): readonly string[] {
  const types = definition?.type.filter((type) => type !== 'VerifiableCredential') ?? []
  return [vct, doctype, ...types].filter((type) => type !== undefined)
}

/** Returns the display of a configuration in the language of the browser, or the first one. */
export function displayOfConfiguration({
  credential_metadata: metadata,
}: Pick<OfferedConfiguration, 'credential_metadata'>): Display | undefined {
  return chooseDisplay(metadata?.display ?? [], navigator.languages)
}

/** Returns the name of a configuration as wallets show it; without one its type, or its id. */
export function configurationName(id: string, configuration: OfferedConfiguration): string {
  const { vct, doctype } = configuration
  return displayOfConfiguration(configuration)?.name ?? vct ?? doctype ?? id
}

/** Returns the names of configurations by id. Where several have one name, each name is followed by its id. */
export function nameConfigurations(
  configurations: ReadonlyMap<string, OfferedConfiguration>,
): readonly (readonly [id: string, name: string])[] {
  const names = [...configurations].map(([id, each]) => [id, configurationName(id, each)] as const)
  const isShared = (name: string): boolean => names.filter(([, other]) => other === name).length > 1
  return names.map(([id, name]) => [id, isShared(name) ? `${name} · ${id.slice(0, 10)}…` : name])
}
