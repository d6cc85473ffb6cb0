import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it, vi } from 'vitest'
import { temporaryDirectory } from '../../../test/support/command.ts'
import { fakeTimersOf } from '../../../test/support/fake-timers.ts'
import { browserCommand, FAILS_WITHIN_MS, openBrowser } from './open-browser.ts'

const stdout = { isTTY: true }

describe('a browser', () => {
  it.each([
    ['linux', { DISPLAY: ':0' }, 'xdg-open'],
    ['linux', { WAYLAND_DISPLAY: 'wayland-0' }, 'xdg-open'],
    ['linux', { DISPLAY: 'localhost:10.0', SSH_CONNECTION: 'x' }, 'xdg-open'],
    ['darwin', {}, 'open'],
    ['win32', {}, 'rundll32'],
  ])('is opened on %s with %j', (platform, env, program) => {
    expect(browserCommand({ platform, env, stdout })?.[0]).toBe(program)
  })

  it.each([
    ['linux', {}],
    ['linux', { DISPLAY: '' }],
    ['linux', { DISPLAY: ':0', CI: 'true' }],
    ['linux', { DISPLAY: ':0', BROWSER: 'none' }],
    ['darwin', { SSH_CONNECTION: 'x' }],
    ['win32', { SSH_CONNECTION: 'x' }],
  ])('is not opened on %s with %j', (platform, env) => {
    expect(browserCommand({ platform, env, stdout })).toBeUndefined()
  })

  it('is not opened when a program reads the output', () => {
    expect(browserCommand({ platform: 'linux', env: { DISPLAY: ':0' }, stdout: {} })).toBeUndefined()
  })

  it('gets the address as one argument, whatever is in it', async () => {
    const directory = temporaryDirectory()
    const [script, told] = [join(directory, 'open.cjs'), join(directory, 'told')]
    writeFileSync(script, `require('fs').writeFileSync(${JSON.stringify(told)}, JSON.stringify(process.argv.slice(2)))`)
    const address = 'http://127.0.0.1:1/sign-in?code=a&b=$(touch x) "c"'
    expect(await openBrowser([process.execPath, script], address)).toBe(true)
    const words = await vi.waitUntil(() => readFileSync(told, 'utf8'), { timeout: 300_000 })
    expect(JSON.parse(words)).toEqual([address])
  })

  it('that cannot be opened is told, so that nobody waits for it', async () => {
    expect(await openBrowser(['/nowhere/xdg-open'], 'http://127.0.0.1:1')).toBe(false)
    expect(await openBrowser([process.execPath, '-e', 'process.exit(3)'], 'http://127.0.0.1:1')).toBe(false)
  })

  it('that cannot be started keeps nobody waiting', async () => {
    const countTimers = fakeTimersOf(FAILS_WITHIN_MS)
    await openBrowser(['/nowhere/xdg-open'], 'http://127.0.0.1:1')
    expect(countTimers()).toBe(0)
  })
})
