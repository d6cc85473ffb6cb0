/** The findings of `vouchsafe doctor` about the credential configurations of an issuer. */
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { CONFIG_FILE } from '../../src/bin/command-table/command.ts'
import { diagnose } from '../../src/bin/doctor/diagnosis.ts'
import { files, openDatabase } from '../../src/bin/effects.ts'
import { type IssuerCollections, issuerMigrations, type StoredConfiguration } from '../../src/issuer/collections.ts'
import { makeServiceFiles } from '../support/doctor.ts'

describe('the credential configurations of an issuer', () => {
  const card = { format: 'dc+sd-jwt', vct: 'urn:example:card' }
  const findingsOf = async (stored: Readonly<Record<string, object>>, settings: object = {}) => {
    const at = await makeServiceFiles('issuer')
    mkdirSync(join(at.directory, 'data'), { recursive: true })
    const store = await openDatabase<IssuerCollections>(
      { kind: 'sqlite', file: join(at.directory, 'data/issuer.db') },
      issuerMigrations,
    )
    for (const [id, configuration] of Object.entries(stored)) {
      const removed = id === 'gone'
      const value = { configuration, removed } as StoredConfiguration
      await store.commit([{ insert: 'credential_configuration', id, value }])
    }
    await store.close()
    const value = { ...at.settings, ...settings }
    const findings = await diagnose({ service: 'issuer', value, configFile: CONFIG_FILE }, files, new Date())
    return findings.filter(({ subject }) => subject.startsWith('credential configurations'))
  }

  const signIn = (name: string) => ({
    ...{ issuer: 'https://127.0.0.1:1', clientId: 'x', clientSecret: 'y' },
    datasets: { [name]: { claims: { a: 'a' } } },
  })
  const presentation = (name: string) => ({
    ...{ verifier: 'https://127.0.0.1:1', apiKey: 'x', verificationQueryId: 'y' },
    datasets: { [name]: { claims: { a: ['card', 'a'] } } },
  })

  it('are all right where each can be issued, and say nothing where there is none', async () => {
    expect(await findingsOf({ one: card, two: { ...card, scope: 'card' } })).toEqual([
      { subject: 'credential configurations', outcome: 'ok', text: 'all 2 can be issued' },
    ])
    expect(await findingsOf({})).toEqual([])
  })

  it('are told where credentials end with the certificate, before their own time is over', async () => {
    const [summary, note, ...more] = await findingsOf({ one: { ...card, validity_seconds: 9000 * 86_400 }, two: card })
    expect([summary?.outcome, more]).toEqual(['ok', []])
    expect(note).toMatchObject({
      outcome: 'note',
      text: expect.stringMatching(/for \d+ days, .* not for 9000;/) as string,
    })
  })

  it.each([
    ['scope', 'card'],
    ['id', 'two'],
  ])('are all right where the dataset has the %s of one', async (_, name) => {
    for (const authentication of [{ openidConnect: signIn(name) }, { presentation: presentation(name) }]) {
      expect(await findingsOf({ one: card, two: { ...card, scope: 'card' } }, { authentication })).toMatchObject([
        { outcome: 'ok' },
      ])
    }
  })

  it.each<[string, object, object, RegExp]>([
    [
      'is of a format that is no more',
      { format: 'ldp_vc' },
      {},
      /^it cannot be issued any more \(.*\); declare it anew/,
    ],
    [
      'needs attesters that nobody trusts',
      { ...card, key_attestations_required: {} },
      {},
      /^wallets cannot get it: .*no attester is trusted/,
    ],
    [
      'has a logo that some wallets cannot read',
      { ...card, credential_metadata: { display: [{ name: 'Card', logo: { uri: 'data:image/svg+xml,%3Csvg%3E' } }] } },
      {},
      /^credential_metadata\.display\[0]\.logo\.uri: .*Credo/,
    ],
    [
      'has a scope without a dataset of claims',
      { ...card, scope: 'card' },
      { authentication: { openidConnect: signIn('other') } },
      /^people who sign in without an offer cannot get it; add card to authentication\.openidConnect\.datasets/,
    ],
    [
      'has a scope without a dataset of a presentation',
      { ...card, scope: 'card' },
      { authentication: { presentation: presentation('other') } },
      /^people who sign in without an offer cannot get it; add card to authentication\.presentation\.datasets/,
    ],
  ])('are named where one %s, and not where it was removed', async (_, posted, settings, text) => {
    expect(await findingsOf({ wrong: posted, gone: posted, right: card }, settings)).toEqual([
      { subject: 'credential configurations wrong', outcome: 'warning', text: expect.stringMatching(text) as string },
    ])
  })
})
