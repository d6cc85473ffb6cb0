/** The timers of docs/how-to/status-lists-by-cdn.md run a command that writes lists, and a failure is noticed. */
import { spawnSync } from 'node:child_process'
import { mkdirSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, expect, it } from 'vitest'
import { COMMAND, filesBelow, temporaryDirectory, vouchsafe } from './support/command.ts'
import { snippetWith } from './support/documents.ts'
import { inStatusLists } from './support/restored.ts'
import { serviceDirectory, start } from './support/service-process.ts'
import { ISSUER_URL } from './support/services.ts'
import { runShell } from './support/shell.ts'

const PAGE = 'docs/how-to/status-lists-by-cdn.md'

let directory: string
beforeAll(async () => {
  directory = await serviceDirectory('issuer', { baseUrl: ISSUER_URL })
  const service = await start('issuer', directory)
  await inStatusLists(() => service.url).issue(1)
  return () => void service.child.kill('SIGKILL')
})

/** Returns the words after the command, with a directory of the test in the place of that of the page. */
const wordsOf = (line: string, to: string): string[] => line.replace('/srv/status', to).split(/[ ,]+/)

it.each([
  ['the unit of systemd', 'OnFailure', /^ExecStart=.*vouchsafe\.cjs (.*)$/m],
  ['the job of Kubernetes', 'kind: CronJob', /^ +args: \[(.*)\]$/m],
])('%s writes the lists, and ends with a failure where it cannot', async (_, has, pattern) => {
  const [, line = ''] = pattern.exec(snippetWith(PAGE, has)) ?? []
  const to = temporaryDirectory()
  expect((await vouchsafe(wordsOf(line, to), { cwd: directory })).status).toBe(0)
  const lists = filesBelow(to)
  expect(lists).toContain('public.index.json')
  expect(lists.filter((file) => /^public\/[\w-]+\.jwt$/.test(file))).toHaveLength(1)
  const file = join(temporaryDirectory(), 'file')
  writeFileSync(file, '')
  expect((await vouchsafe(wordsOf(line, file), { cwd: directory })).status).toBe(2)
})

it('the line of the shell says nothing until the last export is half an hour old', async () => {
  const to = temporaryDirectory()
  const line = snippetWith(PAGE, 'find ').replace('/srv/status', to)
  await vouchsafe(['status-list', 'export', join(to, 'public')], { cwd: directory })
  expect(await runShell(line, directory)).toBe('')
  const before = new Date(Date.now() - 31 * 60_000)
  utimesSync(join(to, 'public.index.json'), before, before)
  expect(await runShell(line, directory)).toBe('no export for half an hour\n')
})

it('the timer repeats more often than a list may be kept', () => {
  const [, minutes = ''] = /^OnUnitInactiveSec=(\d+)min$/m.exec(snippetWith(PAGE, '[Timer]')) ?? []
  const [, everyMinutes = ''] = /schedule: "\*\/(\d+) \* \* \* \*"/.exec(snippetWith(PAGE, 'kind: CronJob')) ?? []
  for (const each of [minutes, everyMinutes]) expect(Number(each) * 60).toBeLessThan(300)
})

it('the units have no directive that systemd does not know', () => {
  if (spawnSync('systemd-analyze', ['--version']).status !== 0) {
    process.stderr.write('NO SYSTEMD, NO TEST OF THESE UNITS: systemd-analyze is not on this machine\n')
    expect(process.env.VOUCHSAFE_TEST_SYSTEMD).not.toBe('required')
    return
  }
  const folder = temporaryDirectory()
  mkdirSync(folder, { recursive: true })
  const service = snippetWith(PAGE, 'OnFailure')
    .replace(/^ExecStart=.*$/m, `ExecStart=${process.execPath} ${COMMAND}`)
    .replace(/^(User|WorkingDirectory|ReadWritePaths|OnFailure)=.*\n/gm, '')
  writeFileSync(join(folder, 'vouchsafe-status-lists.service'), service)
  writeFileSync(join(folder, 'vouchsafe-status-lists.timer'), snippetWith(PAGE, '[Timer]'))
  const { stderr } = spawnSync('systemd-analyze', ['verify', join(folder, 'vouchsafe-status-lists.timer')], {
    encoding: 'utf8',
  })
  expect(stderr.split('\n').filter((line) => line.includes('vouchsafe-status-lists'))).toEqual([])
})
