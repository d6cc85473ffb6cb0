/** A disk that is full, as `ulimit -f` makes one: what was answered is there, what cannot be kept is refused. */
import { afterEach, describe, expect, it } from 'vitest'
import { servicesAt } from '../support/remembering-client.ts'
import { type Running, serviceDirectory, start, startOnFullDisk } from '../support/service-process.ts'
import { API_KEY, ISSUER_URL } from '../support/services.ts'
import { act, issueWithStatus } from '../support/status.ts'
import { configuration, dataset, statusOf } from '../support/wire.ts'

const headers = { authorization: `Bearer ${API_KEY}`, 'content-type': 'application/json' }
const running: Running[] = []

afterEach(async () => {
  for (const { child, ended } of running.splice(0)) {
    child.kill('SIGKILL')
    await ended
  }
})

describe('an issuer whose disk is full', () => {
  // Blocks of 512 bytes or of 1024: what each file of the service may have.
  it.each([
    ['the log', 4096],
    ['the log, and the file that it is moved to', 8192],
  ])('refuses what it cannot keep, lives on, and has all that it answered, with no room for %s', async (_, blocks) => {
    const directory = await serviceDirectory('issuer', { baseUrl: ISSUER_URL })
    const full = await startOnFullDisk('issuer', directory, blocks)
    running.push(full)
    const id = await (await post(full, '/credential-configuration/create', configuration)).text()
    const { sessionId } = await issueWithStatus(servicesAt(() => full.url))
    const large = { credentialSubject: { ...dataset.credentialSubject, note: 'a'.repeat(4000) } }
    const body = { credential_dataset: large, credential_configurations: [id] }
    const acknowledged: string[] = []
    const refused: { readonly status: number; readonly text: string }[] = []
    while (refused.length < 50) {
      const answers = await Promise.all(
        Array.from({ length: 10 }, () => post(full, '/issuance/oid4vci/new-session', body)),
      )
      for (const answer of answers) {
        const text = await answer.text()
        if (answer.status === 200) acknowledged.push((JSON.parse(text) as { session_id: string }).session_id)
        else refused.push({ status: answer.status, text })
      }
    }
    expect(acknowledged.length).toBeGreaterThan(20)
    for (const { status, text } of refused) {
      expect([status, text]).toEqual([500, expect.stringMatching(/^\{"error":"server_error",.*internal error; /)])
    }
    expect(await statusAt(full, '/health/live')).toBe(200)
    // A revocation is small, and may find room that a session did not: then it counts, and otherwise it does not.
    const [revoked] = await act(
      servicesAt(() => full.url),
      'revoke',
      sessionId,
    )
    expect([200, 500]).toContain(revoked)
    const state = revoked === 200 ? 'REVOKED' : 'VALID'
    expect(await credentialStatus(full, sessionId)).toBe(state)
    expect(await missing(full, acknowledged)).toEqual([])
    full.child.kill('SIGKILL')
    await full.ended

    const again = await start('issuer', directory)
    running.push(again)
    expect(await missing(again, acknowledged)).toEqual([])
    expect(await credentialStatus(again, sessionId)).toBe(state)
    expect(
      await act(
        servicesAt(() => again.url),
        'revoke',
        sessionId,
      ),
    ).toMatchObject([200, {}])
    expect(await credentialStatus(again, sessionId)).toBe('REVOKED')
    expect((await post(again, '/issuance/oid4vci/new-session', body)).status).toBe(200)
  })
})

async function credentialStatus(service: Running, sessionId: string): Promise<string | undefined> {
  const status = JSON.stringify(
    await statusOf(
      servicesAt(() => service.url),
      ISSUER_URL,
      sessionId,
    ),
  )
  return /"credential_status":"(\w+)"/.exec(status)?.[1]
}

async function missing(service: Running, sessions: readonly string[]): Promise<string[]> {
  const lost: string[] = []
  for (const id of sessions) if ((await statusAt(service, `/issuance/oid4vci/status/${id}`)) !== 200) lost.push(id)
  return lost
}

function post({ url }: Running, path: string, body: unknown): Promise<Response> {
  return fetch(url + path, { method: 'POST', headers, body: JSON.stringify(body) })
}

async function statusAt({ url }: Running, path: string): Promise<number> {
  const response = await fetch(url + path, { headers })
  await response.arrayBuffer()
  return response.status
}
