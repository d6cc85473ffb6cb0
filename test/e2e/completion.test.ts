/** The words that a shell completes: the same in bash, zsh and fish, as far as each is on this machine. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, describe, expect, it } from 'vitest'
import { commandNames } from '../../src/bin/command-table/index.ts'
import { temporaryDirectory, vouchsafe } from '../support/command.ts'
import { completionsOf, hasShell, type Shell } from '../support/shell-completion.ts'

const shells = (['bash', 'zsh', 'fish'] as const).filter(hasShell)

const rows: readonly (readonly [line: string, words: readonly string[]])[] = [
  ['callbacks ', ['list', 'retry']],
  ['wallet sh', ['show']],
  ['callbacks list --', ['--config', '--dead', '--help', '--json', '--pending', '--service']],
  ['callbacks retry --', ['--all', '--config', '--help', '--json', '--service']],
  ['issuer --', ['--config', '--help', '--workers']],
  ['demo --part ', ['credential', 'secret']],
  ['secret put --scheme x', ['xor']],
  ['init ', ['engine', 'issuer', 'verifier']],
  ['completion ', ['bash', 'fish', 'zsh']],
  ['help c', ['callbacks', 'chain', 'completion', 'component', 'console']],
  ['wallet receive --tx-code ', []],
  ['doctor --config s', ['server.json']],
  ['audit verify s', ['server.json']],
  ['init issuer --dir c', ['conf/']],
]

it('bash is there at least', () => {
  expect(shells).toContain('bash')
})

describe.each(shells)('the completion of %s', (shell: Shell) => {
  let script: string
  beforeAll(async () => {
    script = (await vouchsafe(['completion', shell])).stdout
  })

  it.each(rows)('after vouchsafe %s', (line, words) => {
    const cwd = temporaryDirectory()
    mkdirSync(join(cwd, 'conf'))
    writeFileSync(join(cwd, 'server.json'), '{}')
    const offered = completionsOf(shell, script, `vouchsafe ${line}`, cwd)
    // bash and zsh add the slash of a directory by themselves.
    expect(offered).toEqual(shell === 'fish' ? words : words.map((word) => word.replace(/\/$/, '')))
  })

  it('begins with every command', () => {
    const offered = completionsOf(shell, script, 'vouchsafe ', temporaryDirectory())
    expect(offered).toEqual(expect.arrayContaining([...commandNames, 'help']))
  })
})

it('a shell that there is not is refused', async () => {
  const { status, stderr } = await vouchsafe(['completion', 'tcsh'])
  expect([status, stderr]).toEqual([2, expect.stringMatching(/no completion for tcsh; say bash, zsh or fish\n\nUsage/)])
})
