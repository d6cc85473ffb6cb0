/** The answers of the command to words that it cannot use: what is wrong, which words there are, and one that works. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { temporaryDirectory, vouchsafe } from '../support/command.ts'

const AN_EXAMPLE = /(?:For example|as in): node \S+vouchsafe\.cjs (\S.*)\n$/

/** Runs the command without a configuration, which it must not need to refuse its words. */
async function refusalOf(...words: string[]): Promise<string> {
  const { status, stdout, stderr } = await vouchsafe(words, { cwd: temporaryDirectory() })
  expect([status, stdout]).toEqual([2, ''])
  return stderr
}

describe('a service that there is not', () => {
  it.each([
    ['doctor', 'foo', 'There is no service foo; there are issuer, verifier and engine.'],
    ['init', 'wallet', 'There is no service wallet; there are issuer, verifier and engine.'],
  ])('is refused with those that there are: %s %s', async (command, word, problem) => {
    const text = await refusalOf(command, word)
    expect(text).toContain(problem)
    expect(AN_EXAMPLE.exec(text)?.[1]).toBe(`${command} issuer`)
  })

  it.each([
    [['init'], 'Say which service: issuer, verifier or engine.'],
    [['init', 'issuer', 'verifier'], 'Name one service at a time: issuer, verifier or engine.'],
    [['doctor', 'issuer', 'engine'], 'Name one service at a time: issuer, verifier or engine.'],
  ])('is none, or several: %j', async (words, problem) => {
    const text = await refusalOf(...words)
    expect(text).toContain(problem)
    expect(AN_EXAMPLE.exec(text)?.[1]).toBe(`${words[0] ?? ''} issuer`)
  })
})

describe('vouchsafe audit', () => {
  it('verify without a certificate says which certificate that is and where it is', async () => {
    const text = await refusalOf('audit', 'verify', 'copy.jsonl')
    expect(text).toMatch(/--certificate is missing/)
    expect(text).toMatch(/keys\.audit\.certificateFiles[\s\S]*signing\.certificateFiles/)
    expect(AN_EXAMPLE.exec(text)?.[1]).toBe('audit verify copy.jsonl --certificate conf/issuer.pem')
  })

  it('verify without a copy says how to get one', async () => {
    const text = await refusalOf('audit', 'verify', '--certificate', 'conf/verifier.pem')
    expect(text).toMatch(/the copy is missing.*audit export/s)
    expect(AN_EXAMPLE.exec(text)?.[1]).toBe('audit verify copy.jsonl --certificate conf/verifier.pem')
  })
})

describe('a command with words of its own', () => {
  it.each(['audit', 'callbacks', 'db', 'wallet', 'status-list'])(
    'tells them where none is given: %s',
    async (command) => {
      expect(await refusalOf(command)).toMatch(new RegExp(`^Usage:\\n {2}vouchsafe ${command} `))
    },
  )
})

describe('words too many or too few', () => {
  it.each([
    [['audit', 'verify', 'a', 'b', '--certificate', 'c'], 'audit verify takes one file; leave out b'],
    [['audit', 'export', 'a'], 'audit export takes no file; leave out a'],
    [['callbacks', 'list', 'x'], 'callbacks list takes no event; leave out x'],
    [['callbacks', 'retry'], 'name the event, or all of them: callbacks retry ID, or callbacks retry --all'],
    [['callbacks', 'retry', 'x', 'y'], 'callbacks retry takes one event; leave out y'],
    [['callbacks', 'retry', '--all', 'x'], 'callbacks retry takes an event or --all; leave out x or --all'],
  ])('are named in a sentence before the usage: %j', async (words, sentence) => {
    const text = await refusalOf(...words)
    expect(text.startsWith(`${sentence}\n\nUsage:\n  vouchsafe ${words[0] ?? ''} `)).toBe(true)
  })
})

describe('a word that is not a command', () => {
  it.each(['audit', 'callbacks', 'chain', 'component', 'db', 'secret', 'status-list', 'wallet'])(
    'of %s is refused with the usage',
    async (command) => {
      const usage = `there is no command ${command} toString\ufffd\n\nUsage:\n  vouchsafe ${command} `
      expect(await refusalOf(command, 'toString\u0007')).toContain(usage)
    },
  )

  it('is refused in one line, with the nearest command and where all are listed', async () => {
    expect(await refusalOf('isuer')).toMatch(/^There is no command isuer. Did you mean issuer\? .* help lists all.\n$/)
    expect(await refusalOf('sing')).toMatch(/^There is no command sing. .* help lists all.\n$/)
  })

  it('is not missing: the command alone tells its usage, as help does', async () => {
    const [alone, help] = [await vouchsafe([]), await vouchsafe(['help'])]
    expect([alone.status, alone.stdout]).toEqual([0, help.stdout])
    expect(help.stdout).toMatch(/^ {2}audit +copy the audit log, and verify a copy$/m)
  })
})

describe("another service's configuration", () => {
  it.each([['issuer'], ['doctor', 'issuer']])('is refused with the command that takes it: %s %s', async (...words) => {
    const cwd = temporaryDirectory()
    const settings = { baseUrl: 'http://127.0.0.1:1', clientMetadata: { clientName: 'a' } }
    writeFileSync(join(cwd, 'my conf.json'), JSON.stringify(settings))
    const { status, stdout, stderr } = await vouchsafe([...words, '--config', 'my conf.json'], { cwd })
    expect(status).toBe(2)
    const command = ['doctor', 'verifier'].slice(words.length === 1 ? 1 : 0).join(' ')
    expect((stdout + stderr).replace(/\s+/g, ' ')).toMatch(
      new RegExp(
        `this is a verifier's configuration, and not the issuer's; use: \\S+ \\S+ ${command} --config 'my conf.json'`,
      ),
    )
  })

  it.each([
    [['status-list', 'export', 'lists'], "this is a verifier's configuration, and not the issuer's"],
    [['db', 'status', '--service', 'issuer'], "this is a verifier's configuration, and not the issuer's"],
    [['audit', 'export', '--service', 'issuer'], "this is a verifier's configuration, and not the issuer's"],
  ])('is named by %j', async (words, text) => {
    const cwd = temporaryDirectory()
    const settings = { baseUrl: 'http://127.0.0.1:1', clientMetadata: { clientName: 'a' } }
    writeFileSync(join(cwd, 'a.json'), JSON.stringify(settings))
    const { status, stderr } = await vouchsafe([...words, '--config', 'a.json'], { cwd })
    expect([status, stderr]).toEqual([2, expect.stringContaining(`a.json: ${text}\n`)])
  })

  it('is named by the doctor of an engine', async () => {
    const cwd = temporaryDirectory()
    writeFileSync(join(cwd, 'a.json'), JSON.stringify({ baseUrl: 'http://127.0.0.1:1', issuer: { id: 'a' } }))
    const { stdout } = await vouchsafe(['doctor', 'engine', '--config', 'a.json'], { cwd })
    expect(stdout.replace(/\s+/g, ' ')).toMatch(
      /problem configuration: this is an issuer's configuration, and not the engine's; use: .* doctor issuer/,
    )
  })
})

it.each([
  [['db', 'backup', 'a', 'b'], 'db backup takes one file; leave out b'],
  [['db', 'status', 'a'], 'db status takes no file; leave out a'],
])('%j is told what is wrong with it beside the usage', async (words, text) => {
  const { status, stderr } = await vouchsafe(words, { cwd: temporaryDirectory() })
  expect([status, stderr]).toEqual([2, expect.stringContaining(`${text}\n\nUsage`)])
})
