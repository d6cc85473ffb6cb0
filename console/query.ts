/** Queries of ticked claims, and credentials to try them with, both made from configurations. */
import type { VerifierSchemas } from '../sdk/server/index.ts'
import type { OfferedClaim, OfferedConfiguration } from './clients.ts'
import { makeEmptyObject } from './dataset.ts'
import { configurationName } from './labels.ts'

type Query = VerifierSchemas['DcqlQuery']
type CredentialQuery = VerifierSchemas['CredentialQuery']
type ClaimPath = Readonly<OfferedClaim['path']>
type ClaimQuery = { readonly path?: unknown; readonly values?: unknown }

/** A configuration, and the paths of its claims that are asked for. */
export interface AskedConfiguration {
  readonly id: string
  readonly configuration: OfferedConfiguration
  readonly paths: readonly ClaimPath[]
}

/** Writes the query that asks for one credential of each configuration. */
export function queryFor(configurations: readonly AskedConfiguration[]): Query {
  const names = new Set<string>()
  const credentials = configurations.map(({ id, configuration, paths }): CredentialQuery => {
    const isMdoc = configuration.format === 'mso_mdoc'
    // HAIP 1.0 wants a query through the browser to say of each element of an mdoc whether it is retained.
    const claims = paths.map((path) => ({ path: [...path], ...(isMdoc && { intent_to_retain: false }) }))
    const name = makeUnusedName(configurationName(id, configuration), names)
    return { id: name, format: configuration.format, meta: metaOf(configuration), ...(claims.length > 0 && { claims }) }
  })
  return { credentials }
}

/**
 * Makes an id of `name` that is not in `usedNames`, and adds it there. OpenID4VP 1.0, Credential Query: the id has
 * letters, digits, underscores and hyphens.
 */
function makeUnusedName(name: string, usedNames: Set<string>): string {
  const plain =
    name
      .toLowerCase()
      .replaceAll(/[^a-z\d]+/g, '_')
      .replaceAll(/^_|_$/g, '') || 'credential'
  let id = plain
  for (let number = 2; usedNames.has(id); number += 1) id = `${plain}_${number}`
  usedNames.add(id)
  return id
}

function metaOf({ vct, doctype, credential_definition: definition }: OfferedConfiguration) {
  return {
    ...(vct !== undefined && { vct_values: [vct] }),
    ...(doctype !== undefined && { doctype_value: doctype }),
    ...(definition?.type !== undefined && { type_values: [comparableTypes(definition.type)] }),
  }
}

/**
 * Returns the types without `VerifiableCredential`, which every W3C credential has, and whose expanded form is all that
 * some wallets compare. OpenID4VP 1.0, W3C Verifiable Credentials, `type_values`.
 */
function comparableTypes(types: readonly string[]): string[] {
  const own = types.filter((type) => type !== 'VerifiableCredential')
  return own.length > 0 ? own : ['https://www.w3.org/2018/credentials#VerifiableCredential']
}

/**
 * Describes a credential of the configuration with all of its claims. A claim whose value the query asks for has that
 * value: the dry run then says whether such a credential would answer.
 */
export function exampleOf(configuration: OfferedConfiguration, query: unknown) {
  const { format, vct, doctype, credential_definition: definition, credential_metadata: metadata } = configuration
  const root = makeEmptyObject()
  for (const { path } of metadata?.claims ?? []) put(root, path, findAskedValue(query, path) ?? 'example')
  return {
    format,
    ...(vct !== undefined && { vct }),
    ...(doctype !== undefined && { doctype }),
    ...(definition?.type !== undefined && { type: [...definition.type] }),
    claims: root,
  }
}

/**
 * Returns the first value that the query asks for at a path. Somebody types the query, so that any member may be
 * anything.
 */
function findAskedValue(query: unknown, path: ClaimPath): unknown {
  const { credentials } = (query ?? {}) as { readonly credentials?: unknown }
  const claims = listOf(credentials).flatMap((credential) =>
    listOf((credential as Partial<CredentialQuery> | null)?.claims),
  )
  const claim = claims.find((each) => JSON.stringify((each as ClaimQuery | null)?.path) === JSON.stringify(path))
  return listOf((claim as ClaimQuery | undefined)?.values)[0]
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? (value as readonly unknown[]) : []
}

/**
 * Puts a value at a path: numbers and null are the first element of an array. A path that another one contradicts, such
 * as `a, null` beside `a, b`, has no value.
 */
function put(root: Record<string, unknown>, path: ClaimPath, value: unknown): void {
  let inside: Record<string | number, unknown> = root
  for (const [index, step] of path.entries()) {
    // Only the own members of an object that inherits nothing are looked up by a name that others chose.
    if (Array.isArray(inside) === (typeof step === 'string')) return
    const key = typeof step === 'string' ? step : 0
    if (index === path.length - 1) {
      inside[key] ??= value
      return
    }
    const next = inside[key]
    if (typeof next === 'object' && next !== null) inside = next as Record<string, unknown>
    else {
      const container = (typeof path[index + 1] === 'string' ? makeEmptyObject() : []) as Record<string, unknown>
      inside[key] = container
      inside = container
    }
  }
}
