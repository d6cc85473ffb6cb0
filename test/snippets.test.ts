/**
 * Every fenced block of the documents is run by a test: settings, configurations and queries here, and any other by the
 * file that its row names. So a new block needs a test, or one of the kinds that are tried here.
 */
import { existsSync, readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import type { TObject } from 'typebox'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { EngineSettings } from '../src/engine/config.ts'
import { IssuerSettings } from '../src/issuer/config.ts'
import { compileSchema } from '../src/protocol/json-schema.ts'
import { VerifierSettings } from '../src/verifier/config.ts'
import { vouchsafe } from './support/command.ts'
import { documents, ROOT, type Snippet, snippetsOf, textOf } from './support/documents.ts'
import { type Services, startServices, VERIFIER_URL } from './support/services.ts'
import { runBy, runWhole, unrun } from './support/snippet-rows.ts'
import { call, declare } from './support/wire.ts'

const snippets = documents.flatMap(snippetsOf)
const schemas: readonly TObject[] = [IssuerSettings, VerifierSettings, EngineSettings]
const settingNames = new Set(schemas.flatMap(({ properties }) => Object.keys(properties)))
/** A service takes these; what a service needs beside them stands elsewhere in its configuration. */
const validators = schemas.map((schema) => compileSchema({ ...schema, required: [] }, { all: true }))

type Kind = 'drawing' | 'settings' | 'configuration' | 'query'

/** Returns the kind of a block that is tried here. */
function kindOf({ language, code }: Snippet): Kind | undefined {
  if (language === '' && /[─│▶]/.test(code)) return 'drawing'
  if (language !== 'json') return undefined
  const value = readJson(code)
  if (value === undefined) return undefined
  const names = Object.keys(value)
  if (names.every((name) => settingNames.has(name))) return 'settings'
  if (names.includes('format') && ['credential_definition', 'vct', 'doctype'].some((name) => names.includes(name)))
    return 'configuration'
  return names.includes('credentials') && names.every((name) => /^credential(_set)?s$/.test(name)) ? 'query' : undefined
}

/** Reads the value of a block, which may be members of an object without its braces; undefined for what is neither. */
function readJson(code: string): Record<string, unknown> | undefined {
  for (const text of [code, `{${code}}`]) {
    try {
      return JSON.parse(text) as Record<string, unknown>
    } catch {}
  }
  return undefined
}

function isSetting(value: unknown): boolean {
  return validators.some((validate) => validate(value))
}

const place = ({ page, line, code }: Snippet): string => `${page}:${line} ${code.trim().split('\n')[0] ?? ''}`
const ofKind = (kind: Kind): [string, Snippet][] =>
  snippets.filter((each) => kindOf(each) === kind).map((each) => [place(each), each])
const others = snippets.filter((each) => kindOf(each) === undefined && runWhole[each.page] === undefined)

describe('a block of a document', () => {
  it.each(others.map((each) => [place(each), each] as const))('has one row: %s', (_, { page, code }) => {
    expect([...runBy, ...unrun].filter((row) => row.page === page && code.includes(row.has))).toHaveLength(1)
  })

  it.each(runBy)('that a row is about is there, and its test reads the page: $page, $has', ({ page, has, by }) => {
    expect(others.filter((each) => each.page === page && each.code.includes(has))).toHaveLength(1)
    expect(existsSync(join(ROOT, by))).toBe(true)
    expect(readFileSync(join(ROOT, by), 'utf8')).toContain(basename(page))
  })
})

describe('a page of which one test runs every block', () => {
  it.each(Object.entries(runWhole))('is there: %s', (page, by) => {
    expect(snippetsOf(page).length).toBeGreaterThan(1)
    expect(readFileSync(join(ROOT, by), 'utf8')).toContain(page)
  })
})

describe('settings', () => {
  it.each(ofKind('settings'))('are taken by a service: %s', (_, { code }) => {
    expect(isSetting(readJson(code))).toBe(true)
  })

  it.each(documents)('in the sentences of %s are taken by a service', (page) => {
    const inline = [...textOf(page).matchAll(/`("([A-Za-z]+)": ?[^`]+)`/g)]
    const named = inline.filter(([, , name = '']) => settingNames.has(name) && name !== 'status')
    expect(named.map(([, text = '']) => text).filter((text) => !isSetting(readJson(text)))).toEqual([])
  })
})

describe('a command that a page names', () => {
  const helps = new Map<string, string>()
  beforeAll(async () => {
    const words = new Set(documents.flatMap(commandsOf).map(([word]) => word))
    const helpOf = async (word: string) => (await vouchsafe([word, '--help'])).stdout
    for (const word of words) helps.set(word, await helpOf(word))
  })

  it.each(documents.filter((page) => commandsOf(page).length > 0))('in %s is one, with options that it has', (page) => {
    const wrong = commandsOf(page).filter(([word, options]) => {
      const help = helps.get(word) ?? ''
      return help === '' || options.some((option) => !new RegExp(`${option}(?![\\w-])`).test(help))
    })
    expect(wrong).toEqual([])
  })

  it.each(documents)('of npm in %s is a script of package.json', (page) => {
    const { scripts } = JSON.parse(textOf('package.json')) as { readonly scripts: Readonly<Record<string, string>> }
    const names = [...textOf(page).matchAll(/npm run ([\w:]+)/g)].map(([, name = '']) => name)
    expect(names.filter((name) => scripts[name] === undefined)).toEqual([])
  })
})

/** Returns the commands `vouchsafe …` in the code of a page: the first word and the options of each. */
function commandsOf(page: string): (readonly [word: string, options: readonly string[]])[] {
  const code = [
    ...snippetsOf(page).map((each) => each.code),
    ...[...textOf(page).matchAll(/`([^`\n]+)`/g)].map(([, text = '']) => text),
  ]
  const lines = code.flatMap((each) => each.replaceAll(/\\\n\s*/g, ' ').split('\n'))
  // Help is about a command, and no command itself.
  return lines
    .map((line) => line.replace('vouchsafe help ', 'vouchsafe '))
    .flatMap((line) =>
      [
        ...line.matchAll(
          /(?:^|[\s(|])(?:vouchsafe|node \S*vouchsafe\.cjs) ([a-z]+(?:-[a-z]+)*)((?: (?![|;#>&])\S+)*)/g,
        ),
      ].map(([, word = '', rest = '']) => [word, rest.match(/(?<= )--[a-z-]+/g) ?? []] as const),
    )
}

describe('what an application sends', () => {
  let services: Services
  beforeAll(async () => {
    services = await startServices()
  })
  afterAll(() => services.close())

  it.each(ofKind('configuration'))('is taken as a configuration: %s', async (_, { code }) => {
    await declare(services, readJson(code))
  })

  it.each(ofKind('query'))('is taken as a query: %s', async (_, { code }) => {
    const response = await call(services, `${VERIFIER_URL}/dcql-query/create`, readJson(code))
    expect([response.status, await response.text()]).toEqual([201, expect.any(String)])
  })
})
