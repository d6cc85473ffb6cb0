/** `vouchsafe chain`, as a person uses it. */
import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { artifacts } from '../../components/artifacts/index.ts'
import { runChain } from '../../src/bin/chain/chain.ts'
import { COMMAND, temporaryDirectory, vouchsafe } from '../support/command.ts'

const SLOW_MS = 600_000
const ENGINE = `0x${'21'.repeat(20)}`

describe('vouchsafe chain', () => {
  it(
    'deploys a contract with its component, calls it, and shows what engines see',
    async () => {
      const cwd = temporaryDirectory()
      writeFileSync(join(cwd, 'hello.js'), 'hello')
      const chain = (...words: string[]) => vouchsafe(['chain', ...words], { cwd })
      const words = ['--engine', `${ENGINE}=http://127.0.0.1:8082/`, '--component', 'hello.js', '--json']
      const deployed = await chain('deploy', 'Component', ...words)
      expect(deployed.stderr).toBe('')
      const { address, component } = JSON.parse(deployed.stdout) as { address: string; component: string }
      expect(component).toBe('2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824')
      expect((await chain('show', address)).stdout).toBe(
        `${address}, which engines know as 00${address.slice(2)}\ncomponent ${component}\nengine ${ENGINE} http://127.0.0.1:8082\n`,
      )
      expect((await chain('send', address, 'post', '0x0102')).stdout).toBe('Done, in block 2.\n')
      const engines = `[{"engine": "${ENGINE}", "endpoint": ""}]`
      expect((await chain('send', address, 'setEngines', engines)).stdout).toBe('Done, in block 3.\n')
      expect(JSON.parse((await chain('call', address, 'engines', '--json')).stdout)).toEqual(JSON.parse(engines))
      writeFileSync(join(cwd, 'hallo.js'), 'hallo')
      const changed = await chain('send', address, 'setComponent', '--component', 'hallo.js')
      expect(changed.stdout).toBe('Done, in block 4.\n')
      const hallo = 'd3751d33f9cd5049c4af2b462735457e4d3baf130bcbb87f389e349fbaeb20b9'
      expect(readFileSync(join(cwd, 'data/chain/components', hallo), 'utf8')).toBe('hallo')
      const signature = 'component() view returns (bytes32, string)'
      expect(JSON.parse((await chain('call', address, signature)).stdout)).toEqual([`0x${hallo}`, ''])
      expect((await chain('mine')).stdout).toMatch(/^Block 5, /)
      expect((await chain('show')).stdout).toMatch(/^Chain \d+ in data\/chain, at block 5 of /)
      const shown = JSON.parse((await chain('show', '--json')).stdout) as object
      expect(Object.keys(shown)).toEqual(['chain_id', 'block', 'hash', 'time'])
      const refused = await chain('send', address, 'nothing')
      expect(refused).toMatchObject({
        status: 2,
        stdout: '',
        stderr: expect.stringMatching(/^No contract is known.*\n$/) as string,
      })
    },
    SLOW_MS,
  )

  it(
    'says what engines need that was not given when it deployed, and where it began a chain',
    async () => {
      const cwd = temporaryDirectory()
      writeFileSync(join(cwd, 'hello.js'), 'hello')
      const deploy = async (...words: string[]) => (await vouchsafe(['chain', 'deploy', ...words], { cwd })).stdout
      const bare = await deploy('Component')
      const [, address = ''] = /^Component is at (0x[0-9a-f]{40}) \(block 1\)\.\n/.exec(bare) ?? []
      const given = [
        `Engines know it as 00${address.slice(2)}.\n`,
        'This chain begins with it: it is in data/chain, which an engine watches when its chain.directory says so.\n',
        `It names no component (--component MODULE), so there is nothing to run: node ${COMMAND} chain send ${address} setComponent --component MODULE\n`,
        `It lists no engine (--engine URL), so none runs it: node ${COMMAND} chain send ${address} setEngines '[{"engine": "0x12…ef", "endpoint": "https://engine.example"}]'\n`,
      ]
      expect(bare).toBe(`Component is at ${address} (block 1).\n${given.join('')}`)
      const engine = ['--engine', `${ENGINE}=http://127.0.0.1:8082`]
      expect((await deploy('SecretSharing', ...engine)).split('\n').slice(2)).toEqual([
        'It names no component (--component MODULE), so there is nothing to run: deploy it again',
        '',
      ])
      const whole = await deploy('Component', ...engine, '--component', 'hello.js')
      expect(whole.split('\n')).toHaveLength(3)
      const elsewhere = await deploy('Component', ...engine, '--dir', 'another chain', '--key', 'data/chain/key')
      expect(elsewhere).toMatch(/setComponent --component MODULE --dir 'another chain' --key data\/chain\/key\n$/)
    },
    SLOW_MS,
  )

  it(
    'deploys nothing for an engine of another chain',
    async () => {
      const answer = JSON.stringify({ address: ENGINE, chain: { id: '5' } })
      const server = createServer((_, response) => response.setHeader('content-type', 'application/json').end(answer))
      await once(server.listen(0, '127.0.0.1'), 'listening')
      const { port } = server.address() as AddressInfo
      const words = ['chain', 'deploy', 'Component', '--engine', `http://127.0.0.1:${port}`]
      const { status, stderr } = await vouchsafe(words, { cwd: temporaryDirectory() })
      server.close()
      expect(stderr).toMatch(/watches chain 5, and this is chain \d+: give its own by --dir or --rpc/)
      expect(status).toBe(2)
    },
    SLOW_MS,
  )

  it(
    'waits for an engine that has just been started',
    async () => {
      const answer = JSON.stringify({ address: ENGINE })
      let questions = 0
      const server = createServer((request, response) => {
        questions += 1
        if (questions <= 2) request.socket.destroy()
        else response.setHeader('content-type', 'application/json').end(answer)
      })
      await once(server.listen(0, '127.0.0.1'), 'listening')
      const { port } = server.address() as AddressInfo
      const words = ['chain', 'deploy', 'Component', '--engine', `http://127.0.0.1:${port}`, '--json']
      expect(await vouchsafe(words, { cwd: temporaryDirectory() })).toMatchObject({ status: 0, stderr: '' })
      expect(questions).toBe(3)
      server.close()
    },
    SLOW_MS,
  )

  it('names the error of a contract that refuses, and who would have sent the transaction', async () => {
    const directory = temporaryDirectory()
    const run = (...words: string[]) => vouchsafe(['chain', ...words, '--dir', join(directory, 'chain')])
    const { address } = JSON.parse((await run('deploy', 'Component', '--json')).stdout) as { address: string }
    const [key, artifact] = [join(directory, 'other.key'), join(directory, 'Own.json')]
    const other = JSON.parse((await vouchsafe(['secret', 'key', key, '--json'])).stdout) as { address: string }
    expect(await run('send', address, 'setEngines', '[]', '--key', key)).toMatchObject({
      status: 2,
      stderr: `the contract refuses: NotOwner(). Nothing was sent, from ${other.address}; another account is named by --key FILE\n`,
    })
    const asked = ['call', address, 'transferOwnership(address)', ENGINE]
    expect((await run(...asked)).stderr).toBe('the contract refuses: NotOwner()\n')
    writeFileSync(artifact, JSON.stringify({ ...artifacts.Component, abi: [] }))
    const unnamed = await run(...asked, '--artifact', artifact)
    expect(unnamed.stderr).toBe('the contract refuses: error 0x30cd7471\n')
  })

  it.each<[string, string[], RegExp]>([
    [
      'an unknown contract',
      ['deploy', 'Nothing'],
      /There is no contract Nothing\. Those that come with us: .*Component/,
    ],
    [
      'a contract that was not compiled',
      ['deploy', 'out/Guestbook.json'],
      new RegExp(
        `^There is no file ${join(process.cwd(), 'out/Guestbook.json')}: compile the contract first \\(forge build, or npx`,
      ),
    ],
    [
      'a contract that was not compiled, to call',
      ['call', ENGINE, 'motto', '--artifact', 'out/Guestbook.json'],
      /^There is no file .*Guestbook\.json: compile the contract first/,
    ],
    ['a file that is not a contract', ['deploy', 'own.json'], /own\.json is not a compiled contract/],
    [
      'a file that is not JSON',
      ['deploy', 'text.json'],
      /text\.json is not JSON: .*; name the file that a compiler wrote/,
    ],
    [
      'an engine that is not there',
      ['deploy', 'Component', '--engine', 'http://127.0.0.1:1'],
      /--engine http:\/\/127\.0\.0\.1:1: no engine answers there: 127\.0\.0\.1:1 takes no connections.*\. Start it, give it a few seconds where it was just started, or give its address too: 0x12…ef=http/,
    ],
    ['an engine without URL', ['deploy', 'Component', '--engine', `${ENGINE}=localhost:1`], /it must be a URL, or an/],
    [
      'no component there',
      ['deploy', 'Component', '--component', 'no.js'],
      /--component no\.js cannot be read \(ENOENT\)/,
    ],
    [
      'a component that was not built',
      ['deploy', 'Component', '--component', 'no.ts'],
      /--component no\.ts is source, .*vouchsafe(\.cjs)? component build no\.ts --out no\.js$/,
    ],
    [
      'a component that was not built, for a contract that is there',
      ['send', ENGINE, 'setComponent', '--component', 'no.mts'],
      /--component no\.mts is source/,
    ],
    [
      'a component for another function',
      ['send', ENGINE, 'post', '--component', 'a.js'],
      /--component is for deploy, and/,
    ],
    ['no function', ['send', ENGINE], /^send takes the address of a contract, a function/],
    ['an unknown word', ['sned'], /^there is no command chain sned/],
    ['arguments that are not a list', ['deploy', 'Component', '--args', '{'], /--args must be a list in JSON/],
    ['too many arguments', ['deploy', 'Component', '--args', '[1]'], /the constructor takes 3 arguments, not 4/],
    ['an unknown function', ['send', ENGINE, 'nothing'], /No contract is known that has a function nothing/],
    ['words that are not a function', ['call', ENGINE, 'f(what)'], /f\(what\) is not a function/],
    ['no contract there', ['call', ENGINE, 'owner'], /answers nothing: there is no such contract/],
    ['no contract to send to', ['send', ENGINE, 'setEngines', '[]'], /There is no contract at 0x.* Nothing was sent/],
    ['no address', ['show', '0x12'], /0x12 is not an address/],
    [
      'a price that is none',
      ['deploy', 'Component', '--max-gas-price', '1.5'],
      /1\.5 is not a whole number of gwei from 1/,
    ],
    ['two chains', ['show', '--rpc', 'http://127.0.0.1:1', '--dir=a'], /give --dir or --rpc/],
    ['nobody there', ['show', '--rpc', 'http://127.0.0.1:1'], /the chain cannot be asked: 127\.0\.0\.1:1 takes no/],
    [
      'a key that is none',
      ['deploy', 'Component', '--key', 'own.json'],
      /own\.json cannot be used as a key: it holds no private key in PEM/,
    ],
    [
      'no chain there',
      ['show', '--dir', '/nowhere/chain'],
      /There is no chain in \/nowhere\/chain: say where it is \(--dir DIR, or/,
    ],
    ['nothing', [], /^Usage:\n {2}vouchsafe chain deploy/],
  ])('%s: it says what to do', async (_, words, message) => {
    const directory = temporaryDirectory()
    writeFileSync(join(directory, 'own.json'), '{"abi": []}')
    writeFileSync(join(directory, 'text.json'), 'abi')
    const where = words.includes('--rpc') || words.includes('--dir') || words.length === 0 ? [] : ['--dir', directory]
    const given = words.map((word) => (/^(own|text)\.json$/.test(word) ? join(directory, word) : word))
    await expect(runChain([...given, ...where])).rejects.toThrow(message)
  })
})
