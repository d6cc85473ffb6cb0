/** An installation that is not whole: said before an engine has opened or answered anything. */
import { execFileSync, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, existsSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { COMMAND, temporaryDirectory } from '../support/command.ts'

const DIST = dirname(COMMAND)

describe.each(['sqlite-check-thread.cjs', 'sqlite-writer-thread.cjs', 'local-chain-worker.cjs', 'quickjs.wasm'])(
  'without %s',
  (name) => {
    it('an engine refuses to start, and the doctor says so', () => {
      const directory = temporaryDirectory()
      cpSync(DIST, join(directory, 'dist'), { recursive: true })
      symlinkSync(join(DIST, '..', 'node_modules'), join(directory, 'node_modules'), 'junction')
      const command = join(directory, 'dist', 'vouchsafe.cjs')
      const cwd = join(directory, 'engine')
      execFileSync(process.execPath, [command, 'init', 'engine', '--dir', cwd])
      rmSync(join(directory, 'dist', name))
      const message = `There is no ${name} in ${join(directory, 'dist')}; run npm run build, or install Vouchsafe again.`
      const options = { cwd, encoding: 'utf8', timeout: 100_000 } as const
      const engine = spawnSync(process.execPath, [command, 'engine'], options)
      expect(engine).toMatchObject({ status: 2, stderr: `${message}\n` })
      expect(existsSync(join(cwd, 'data'))).toBe(false)
      const { stdout } = spawnSync(process.execPath, [command, 'doctor', 'engine', '--json'], options)
      const { findings } = JSON.parse(stdout) as { findings: unknown[] }
      expect(findings).toContainEqual(expect.objectContaining({ subject: 'installation', text: message }))
    })
  },
)

it('without component-worker.cjs the doctor says so once', () => {
  const directory = temporaryDirectory()
  cpSync(DIST, join(directory, 'dist'), { recursive: true })
  const command = join(directory, 'dist', 'vouchsafe.cjs')
  const cwd = join(directory, 'engine')
  execFileSync(process.execPath, [command, 'init', 'engine', '--dir', cwd])
  mkdirSync(join(cwd, 'data', 'chain'), { recursive: true })
  rmSync(join(directory, 'dist', 'component-worker.cjs'))
  const { stdout } = spawnSync(process.execPath, [command, 'doctor', 'engine'], { cwd, encoding: 'utf8' })
  expect(stdout.match(/component-worker\.cjs/g)).toHaveLength(1)
})

it('dist/ alone starts an engine: no package but SQLite, which older Node lacks', async () => {
  const directory = temporaryDirectory()
  cpSync(DIST, join(directory, 'dist'), { recursive: true })
  const sqlite = join('node_modules', '@photostructure')
  mkdirSync(join(directory, 'node_modules'))
  symlinkSync(join(DIST, '..', sqlite), join(directory, sqlite), 'junction')
  const command = join(directory, 'dist', 'vouchsafe.cjs')
  const cwd = join(directory, 'engine')
  execFileSync(process.execPath, [command, 'init', 'engine', '--dir', cwd])
  const file = join(cwd, 'conf', 'server.json')
  const settings = JSON.parse(readFileSync(file, 'utf8')) as object
  writeFileSync(file, JSON.stringify({ ...settings, port: 0 }))
  const engine = spawn(process.execPath, [command, 'engine'], { cwd, stdio: ['ignore', 'pipe', 'pipe'] })
  let said = ''
  const event = new Promise<string>((resolve) => {
    engine.stdout.on('data', (part: Buffer) => {
      said += part.toString()
      const [, name] = /"event":"(listening|refused_to_start|failed_to_start)"/.exec(said) ?? []
      if (name !== undefined) resolve(name)
    })
    engine.on('close', () => resolve(said))
  })
  expect(await event).toBe('listening')
  const closed = once(engine, 'close')
  engine.kill()
  await closed
})
