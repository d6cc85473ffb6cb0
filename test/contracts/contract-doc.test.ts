/** The contract in docs/engine.md compiles beside those of the package, and is deployed and called as the page says. */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { temporaryDirectory } from '../support/command.ts'
import { ROOT, snippetWith } from '../support/documents.ts'
import { runShell } from '../support/shell.ts'

const PAGE = 'docs/engine.md'
const solc = createRequire(import.meta.url)('solc') as {
  compile(input: string, callbacks: { import: (path: string) => object }): string
}

interface Compiled {
  readonly errors?: readonly { readonly severity: string; readonly formattedMessage: string }[]
  readonly contracts: Record<
    string,
    Record<string, { readonly abi: object; readonly evm: { readonly bytecode: { readonly object: string } } }>
  >
}

it('what a contract of a component says is what OffChain.sol says', () => {
  const text = readFileSync(join(ROOT, 'components/OffChain.sol'), 'utf8').replaceAll(/\s+/g, ' ')
  const lines = snippetWith(PAGE, 'struct Engine').trim().split('\n')
  const missing = lines.filter((line) => !text.includes(line))
  expect(missing).toEqual([])
})

it('a guestbook is compiled, deployed and called', async () => {
  const content = `// SPDX-License-Identifier: Apache-2.0\npragma solidity ^0.8.20;\n${snippetWith(PAGE, 'contract Guestbook')}`
  const input = {
    language: 'Solidity',
    sources: { 'Guestbook.sol': { content } },
    settings: { evmVersion: 'cancun', outputSelection: { '*': { '*': ['abi', 'evm.bytecode.object'] } } },
  }
  const files = (path: string) => ({ contents: readFileSync(join(ROOT, path.replace('vouchsafe/', '')), 'utf8') })
  const { errors = [], contracts } = JSON.parse(solc.compile(JSON.stringify(input), { import: files })) as Compiled
  expect(errors.map(({ formattedMessage }) => formattedMessage)).toEqual([])
  const { abi, evm } = contracts['Guestbook.sol']?.Guestbook ?? { abi: {}, evm: { bytecode: { object: '' } } }

  const folder = temporaryDirectory()
  mkdirSync(join(folder, 'out'))
  writeFileSync(join(folder, 'out/Guestbook.json'), JSON.stringify({ abi, bytecode: `0x${evm.bytecode.object}` }))
  writeFileSync(join(folder, 'visitors.js'), 'a component')
  const [deploy = '', send = ''] = snippetWith(PAGE, 'out/Guestbook.json').trim().split('\n')
  const engine = `0x${'12'.repeat(20)}=https://engine.example`
  const address = /0x[\da-f]{40}/.exec(await runShell(deploy.replace('URL', engine), folder))?.[0] ?? ''
  await runShell(send.replace('ADDRESS', address), folder)
  const motto = await runShell(`vouchsafe chain call ${address} motto --artifact out/Guestbook.json`, folder)
  expect(motto).toContain('be quick')
})
