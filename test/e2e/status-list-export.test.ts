/**
 * `vouchsafe status-list export`: the files have what the issuer serves, and only what has changed is written again.
 */
import { existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { parseJsonObject } from '../../src/codec/json.ts'
import { readJws } from '../../src/codec/jws.ts'
import { filesBelow, temporaryDirectory, vouchsafe } from '../support/command.ts'
import { inStatusLists } from '../support/restored.ts'
import { type Running, serviceDirectory, start, startForTest } from '../support/service-process.ts'
import { ISSUER_URL } from '../support/services.ts'
import type { IssuedCredential } from '../support/status.ts'

const KINDS = ['.cwt', '.jwt', '/revocation.jwt', '/suspension.jwt']

describe('the export of status lists', () => {
  let service: Running
  let directory: string
  let credential: IssuedCredential
  beforeAll(async () => {
    directory = await serviceDirectory('issuer', { baseUrl: ISSUER_URL })
    service = await start('issuer', directory)
    credential = await inStatusLists(() => service.url).issue(2)
  })
  afterAll(async () => {
    service.child.kill('SIGKILL')
    await service.ended
  })
  const exported = (to: string) => vouchsafe(['status-list', 'export', to, '--json'], { cwd: directory })
  const listId = () => credential.status.uri.slice(`${ISSUER_URL}/status-list/`.length)
  const bitsOf = (jwt: string) => {
    const { payload } = readJws(jwt)
    return [payload.sub, payload.status_list]
  }

  it('has each list in each kind, as the service serves it, and compressed', async () => {
    const to = join(temporaryDirectory(), 'public')
    const { status, stdout } = await exported(`${to}/`)
    const files = KINDS.map((end) => `${listId()}${end}`)
    expect([status, parseJsonObject(stdout)]).toEqual([
      0,
      { written: expect.arrayContaining(files) as string[], unchanged: 0, removed: [], ttl_seconds: 300 },
    ])
    expect(filesBelow(to)).toEqual(files.flatMap((file) => [file, `${file}.gz`]).sort())
    // Only the issuer learns which lists there are, and how often each has changed.
    expect(statSync(`${to}.index.json`).mode & 0o777).toBe(0o600)
    for (const file of files) {
      expect(gunzipSync(readFileSync(join(to, `${file}.gz`)))).toEqual(readFileSync(join(to, file)))
      expect(statSync(join(to, file)).mode & 0o777).toBe(0o644)
    }
    const served = await (await fetch(`${service.url}/status-list/${listId()}`)).text()
    expect(bitsOf(readFileSync(join(to, `${listId()}.jwt`), 'latin1'))).toEqual(bitsOf(served))
    const purpose = await (await fetch(`${service.url}/status-list/${listId()}/revocation`)).text()
    const inFile = readJws(readFileSync(join(to, `${listId()}/revocation.jwt`), 'latin1')).payload
    expect(inFile).toMatchObject({ credentialSubject: readJws(purpose).payload.credentialSubject })
  })

  it('writes again what has changed, and what is missing, and nothing else', async () => {
    const to = join(temporaryDirectory(), 'public')
    await exported(to)
    const file = join(to, `${listId()}.jwt`)
    const before = readFileSync(file, 'latin1')
    const indexBefore = statSync(`${to}.index.json`).mtimeMs
    expect(parseJsonObject((await exported(to)).stdout)).toMatchObject({ written: [], unchanged: KINDS.length })
    expect(readFileSync(file, 'latin1')).toBe(before)
    // The time of the index says when the export last succeeded.
    expect(statSync(`${to}.index.json`).mtimeMs).toBeGreaterThan(indexBefore)
    await inStatusLists(() => service.url).expectServed(credential)
    expect(parseJsonObject((await exported(to)).stdout)).toMatchObject({ unchanged: 0 })
    expect(bitsOf(readFileSync(file, 'latin1'))).not.toEqual(bitsOf(before))
    writeFileSync(`${to}.index.json`, 'half of')
    expect(parseJsonObject((await exported(to)).stdout)).toMatchObject({ unchanged: 0 })
  })

  it('removes the files of lists that are gone, and no other file', async () => {
    const to = join(temporaryDirectory(), 'public')
    await exported(to)
    const gone = KINDS.map((end) => `gone${end}`)
    mkdirSync(join(to, 'gone'), { recursive: true })
    for (const file of [...gone, 'own.html']) writeFileSync(join(to, file), '')
    for (const file of gone) writeFileSync(join(to, `${file}.gz`), '')
    const outside = join(to, '../outside.jwt')
    writeFileSync(outside, '')
    const kept = parseJsonObject(readFileSync(`${to}.index.json`, 'utf8'))
    const tags = Object.fromEntries([...gone, '../outside.jwt', 'own.html'].map((file) => [file, 'W/"1"']))
    writeFileSync(`${to}.index.json`, JSON.stringify({ ...kept, ...tags }))
    expect(parseJsonObject((await exported(to)).stdout).removed).toEqual(gone)
    expect(filesBelow(to).filter((file) => !file.startsWith(listId()))).toEqual(['own.html'])
    expect([existsSync(join(to, 'gone')), existsSync(outside)]).toEqual([false, true])
    expect(parseJsonObject((await exported(to)).stdout).removed).toEqual([])
  })

  it('changes nothing where the database has no list, or those of another issuer, and says so', async () => {
    const to = join(temporaryDirectory(), 'public')
    await exported(to)
    const files = filesBelow(to)
    const other = await serviceDirectory('issuer', { baseUrl: ISSUER_URL })
    const otherService = await startForTest('issuer', other)
    const expectRefusal = async () => {
      const { status, stderr } = await vouchsafe(['status-list', 'export', to], { cwd: other })
      expect([status, stderr]).toEqual([
        2,
        expect.stringMatching(/none of the status lists.*is it the database/s) as string,
      ])
      expect(filesBelow(to)).toEqual(files)
    }
    await expectRefusal()
    const elsewhere = join(temporaryDirectory(), 'new', 'public')
    expect((await vouchsafe(['status-list', 'export', elsewhere], { cwd: other })).status).toBe(0)
    expect(statSync(elsewhere).isDirectory()).toBe(true)
    await inStatusLists(() => otherService.url).issue(2)
    await expectRefusal()
  })

  it('leaves no half of a file where the disk takes none', async () => {
    const to = join(temporaryDirectory(), 'public')
    mkdirSync(join(to, `${listId()}.jwt`), { recursive: true })
    const { status, stderr } = await vouchsafe(['status-list', 'export', to], { cwd: directory })
    expect([status, stderr]).toEqual([2, expect.stringMatching(/it cannot be written/) as string])
    expect(filesBelow(to)).toEqual([])
  })

  it.each([
    ['a directory that is a file', ['export', 'conf/server.json'], /conf\/server\.json: it cannot be written/],
    ['no directory', ['export'], /status-list export DIR/],
  ])('says what is wrong with %s', async (_, words, sentence) => {
    const { status, stderr } = await vouchsafe(['status-list', ...words], { cwd: directory })
    expect([status, stderr]).toEqual([2, expect.stringMatching(sentence) as string])
    expect(existsSync(join(directory, 'conf/server.json'))).toBe(true)
  })

  it('makes no database where the service never ran', async () => {
    const elsewhere = await serviceDirectory('issuer')
    const { status, stderr } = await vouchsafe(['status-list', 'export', 'out'], { cwd: elsewhere })
    expect([status, stderr]).toEqual([2, expect.stringContaining('has the service run here?') as string])
  })
})
