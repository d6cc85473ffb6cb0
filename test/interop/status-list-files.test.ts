/**
 * nginx with the configuration of docs/how-to/status-lists-by-cdn.md serves exported status lists as the issuer does.
 */
import { chmodSync, rmSync } from 'node:fs'
import { gunzipSync } from 'node:zlib'
import { expect, it, onTestFinished } from 'vitest'
import { temporaryDirectory, vouchsafe } from '../support/command.ts'
import { snippetWith } from '../support/documents.ts'
import { askProxy, NGINX, startNginx } from '../support/nginx.ts'
import { inStatusLists } from '../support/restored.ts'
import { serviceDirectory, start } from '../support/service-process.ts'
import { ISSUER_URL } from '../support/services.ts'

if (NGINX === undefined) {
  it('left out, since no nginx is on this machine', () => {
    process.stderr.write(
      'NO NGINX, NO TEST OF FILES OF STATUS LISTS: install one, such as by apt-get install nginx-light\n',
    )
    expect(process.env.VOUCHSAFE_TEST_PROXY).not.toBe('required')
  })
} else {
  it('serves each kind at the path that credentials name, with its type, compressed, and 304', async () => {
    const [directory, files] = [await serviceDirectory('issuer', { baseUrl: ISSUER_URL }), temporaryDirectory()]
    // A web server is another user.
    chmodSync(files, 0o755)
    const service = await start('issuer', directory)
    onTestFinished(() => void service.child.kill('SIGKILL'))
    const { status } = await inStatusLists(() => service.url).issue(1)
    expect((await vouchsafe(['status-list', 'export', files], { cwd: directory })).status).toBe(0)

    const path = new URL(status.uri).pathname
    const blocks = snippetWith('docs/how-to/status-lists-by-cdn.md', 'try_files')
      .replaceAll('/srv/status/public', files)
      .replace('http://127.0.0.1:8079', service.url)
    const port = await startNginx(blocks, path)
    const kinds = [
      [path, {}, 'application/statuslist+jwt'],
      [path, { accept: 'application/statuslist+cwt' }, 'application/statuslist+cwt'],
      [`${path}/revocation`, {}, 'application/vc+jwt'],
      [`${path}/suspension`, {}, 'application/vc+jwt'],
    ] as const
    for (const [at, headers, type] of kinds) {
      const answer = await askProxy(port, at, headers)
      expect([answer.status, answer.headers['content-type']]).toEqual([200, type])
      expect(answer.headers).toMatchObject({ 'cache-control': 'max-age=300', 'access-control-allow-origin': '*' })
      const packed = await askProxy(port, at, { ...headers, 'accept-encoding': 'gzip' })
      expect(packed.headers['content-encoding']).toBe('gzip')
      expect(gunzipSync(packed.body)).toEqual(answer.body)
      const again = await askProxy(port, at, { ...headers, 'if-none-match': String(answer.headers.etag) })
      expect(again.status).toBe(304)
      const asked = { ...headers, accept: headers === kinds[1][1] ? 'application/statuslist+cwt' : '*/*' }
      const served = await fetch(`${service.url}${at}`, { headers: asked })
      expect([served.status, served.headers.get('content-type')]).toEqual([200, type])
    }
    expect((await askProxy(port, `${path}x`)).status).toBe(404)

    // A list that began since the last export has no files yet.
    rmSync(files, { recursive: true })
    for (const [at, headers, type] of kinds) {
      const answer = await askProxy(port, at, headers)
      expect([answer.status, answer.headers['content-type']]).toEqual([200, type])
      expect(answer.headers).toMatchObject({ 'access-control-allow-origin': '*' })
    }
  })
}
