/** The settings are held to having an effect: each is read by some code, and not only accepted. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { EngineSettings } from '../src/engine/config.ts'
import { IssuerSettings } from '../src/issuer/config.ts'
import { VerifierSettings } from '../src/verifier/config.ts'

interface Schema {
  readonly properties?: Readonly<Record<string, Schema>>
  readonly anyOf?: readonly Schema[]
}

/** Members of a JDBC data source, which are accepted and mean nothing here. */
const IGNORED = ['persistenceUnitName']

const SRC = join(import.meta.dirname, '..', 'src')
const code = readdirSync(SRC, { recursive: true, encoding: 'utf8' })
  .filter((path) => path.endsWith('.ts') && !/\.(test|contract)\.ts$/.test(path))
  .map((path) => readFileSync(join(SRC, path), 'utf8').replace(/\/\*[\s\S]*?\*\/|\/\/.*|'[^'\n]*'/g, ''))
  .join('\n')

function memberNamesOf({ properties = {}, anyOf = [] }: Schema): string[] {
  const names = Object.entries(properties).flatMap(([name, schema]) => [name, ...memberNamesOf(schema)])
  return [...names, ...anyOf.flatMap(memberNamesOf)]
}

/** Tests whether code reads a member of this name: `settings.name`, or a pattern with `name`. */
function isRead(name: string): boolean {
  return new RegExp(`\\.${name}\\b|[{,]\\s*${name}\\s*[,}=]|[{,]\\s*${name}: [a-z{]`).test(code)
}

describe('every setting', () => {
  it.each([
    ['issuer', IssuerSettings],
    ['verifier', VerifierSettings],
    ['engine', EngineSettings],
  ])('of the %s is read by some code', (_, settings) => {
    const names = memberNamesOf(settings as unknown as Schema)
    expect(names.length).toBeGreaterThan(30)
    expect(names.filter((name) => !IGNORED.includes(name) && !isRead(name))).toEqual([])
  })

  it('that no code reads is noticed', () => {
    expect(['colour', 'keyAttestationTrustAnchor'].filter(isRead)).toEqual([])
  })
})
