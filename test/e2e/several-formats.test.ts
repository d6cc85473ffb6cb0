/** A session that names configurations of several formats: one dataset, of which each format takes its own members. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { JsonObject } from '../../src/codec/json.ts'
import { formatOf } from '../../src/credential/formats.ts'
import { receiveOffer } from '../../src/wallet/receive.ts'
import { mdocConfiguration, NAMESPACE } from '../support/mdoc.ts'
import { ISSUER_URL, type Services, startServices } from '../support/services.ts'
import { testWallet } from '../support/wallet.ts'
import { call, configuration, declare } from '../support/wire.ts'

const credentialSubject = { given_name: 'Ada', address: { city: 'London' } }
const elements = { family_name: 'Lovelace' }
const NEW_SESSION = `${ISSUER_URL}/issuance/oid4vci/new-session`

const posted: Readonly<Record<string, JsonObject>> = {
  'jwt_vc_json-ld': configuration,
  'vc+sd-jwt': { ...configuration, format: 'vc+sd-jwt' },
  jwt_vc_json: { format: 'jwt_vc_json', credential_definition: { type: ['VerifiableCredential', 'StudentCard'] } },
  'dc+sd-jwt': { format: 'dc+sd-jwt', vct: 'urn:example:student-card' },
  mso_mdoc: mdocConfiguration,
}
const all = Object.keys(posted)

describe('a session with configurations of several formats', () => {
  let services: Services
  beforeAll(async () => {
    services = await startServices()
  })
  afterAll(() => services.close())

  const start = async (formats: readonly string[], members: object) => {
    const ids = await Promise.all(formats.map((format) => declare(services, posted[format])))
    return call(services, NEW_SESSION, { ...members, credential_configurations: ids })
  }
  const refusalOf = async (response: Response) => {
    const { error, error_description: why } = (await response.json()) as Record<string, string>
    return `${response.status} ${error} ${why}`
  }
  /** The claims of each credential that a wallet receives, in the place where its format has those of the dataset. */
  const claimsReceived = async (link: string) => {
    const stored = await receiveOffer(testWallet(services.fetch, services.clock).wallet, link)
    return Object.fromEntries(
      stored.map(({ format, credential }) => {
        const { claims = {}, securingMembers = [] } = formatOf(format)?.readHeld(credential) ?? {}
        const shown = Object.entries(claims).filter(([name]) => !securingMembers.includes(name))
        return [format, 'credentialSubject' in claims ? claims.credentialSubject : Object.fromEntries(shown)]
      }),
    )
  }
  const issued = async (formats: readonly string[], dataset: object) => {
    const response = await start(formats, { credential_dataset: dataset })
    const body = (await response.json()) as Record<string, string>
    expect([response.status, body.error_description]).toEqual([200, undefined])
    return claimsReceived(body.credential_offer_uri ?? '')
  }

  it('issues all five from one subject and one namespace', async () => {
    const w3c = { 'jwt_vc_json-ld': credentialSubject, 'vc+sd-jwt': credentialSubject, jwt_vc_json: credentialSubject }
    expect(await issued(all, { credentialSubject, [NAMESPACE]: elements })).toEqual({
      ...w3c,
      'dc+sd-jwt': credentialSubject,
      mso_mdoc: { [NAMESPACE]: elements },
    })
  })

  it.each<[string, readonly string[], object, object]>([
    [
      'gives an SD-JWT VC the members beside the subject',
      ['jwt_vc_json-ld', 'dc+sd-jwt'],
      { credentialSubject, nickname: 'ada', address: { country: 'GB' } },
      { 'jwt_vc_json-ld': credentialSubject, 'dc+sd-jwt': { nickname: 'ada', address: { country: 'GB' } } },
    ],
    [
      'gives an mdoc the namespaces and an SD-JWT VC what is beside them',
      ['mso_mdoc', 'dc+sd-jwt'],
      { [NAMESPACE]: elements, nickname: 'ada', address: { city: 'London' } },
      { mso_mdoc: { [NAMESPACE]: elements }, 'dc+sd-jwt': { nickname: 'ada', address: { city: 'London' } } },
    ],
    [
      'gives an SD-JWT VC the members of the subject where nothing but namespaces is beside it',
      ['mso_mdoc', 'dc+sd-jwt'],
      { [NAMESPACE]: elements, credentialSubject },
      { mso_mdoc: { [NAMESPACE]: elements }, 'dc+sd-jwt': credentialSubject },
    ],
    [
      'gives a claim with a dot in its name that is not an object to an SD-JWT VC',
      ['mso_mdoc', 'dc+sd-jwt'],
      { [NAMESPACE]: elements, 'https://example.com/level': 3 },
      { mso_mdoc: { [NAMESPACE]: elements }, 'dc+sd-jwt': { 'https://example.com/level': 3 } },
    ],
    [
      'gives an mdoc the namespaces and a W3C credential the subject',
      ['jwt_vc_json', 'mso_mdoc'],
      { credentialSubject, [NAMESPACE]: elements },
      { jwt_vc_json: credentialSubject, mso_mdoc: { [NAMESPACE]: elements } },
    ],
  ])('%s', async (_, formats, dataset, claims) => {
    expect(await issued(formats, dataset)).toEqual(claims)
  })

  it('leaves the dataset of a single format whole, whatever its members are called', async () => {
    const dataset = { nickname: { family_name: 'Lovelace' }, [NAMESPACE]: elements }
    expect(await issued(['mso_mdoc'], dataset)).toEqual({ mso_mdoc: dataset })
  })

  it('issues from the whole dataset where an earlier release took one without a part for each format', async () => {
    const right = { credential_dataset: { [NAMESPACE]: elements, nickname: 'ada' } }
    const started = await start(['dc+sd-jwt', 'mso_mdoc'], right)
    const { session_id: id = '', credential_offer_uri: link } = (await started.json()) as Record<string, string>
    const { version = 0 } = (await services.issuerStore.get('issuance_dataset', id)) ?? {}
    const older = { [NAMESPACE]: elements }
    await services.issuerStore.commit([{ update: 'issuance_dataset', id, version, value: older }])
    expect(await claimsReceived(link ?? '')).toEqual({ 'dc+sd-jwt': older, mso_mdoc: older })
  })

  it('is completed later with one dataset in the same way', async () => {
    const started = await start(['dc+sd-jwt', 'mso_mdoc'], { deferred: true })
    const { session_id: id, credential_offer_uri: link } = (await started.json()) as Record<string, string>
    const complete = (dataset: object) =>
      call(services, `${ISSUER_URL}/issuance/oid4vci/complete/${id}`, { credential_dataset: dataset })
    expect(await refusalOf(await complete({ nickname: 'ada' }))).toMatch(/namespace/)
    expect((await complete({ nickname: 'ada', [NAMESPACE]: elements })).status).toBe(200)
    expect(await claimsReceived(link ?? '')).toEqual({
      'dc+sd-jwt': { nickname: 'ada' },
      mso_mdoc: { [NAMESPACE]: elements },
    })
  })

  it.each<[string, readonly string[], object, RegExp]>([
    [
      'a member beside the subject of W3C formats',
      ['jwt_vc_json', 'vc+sd-jwt'],
      { credentialSubject, nickname: 'ada' },
      /credential_dataset\.nickname: the format jwt_vc_json takes credentialSubject and nothing else/,
    ],
    [
      'a member that is not a namespace, of W3C formats and an mdoc',
      ['jwt_vc_json-ld', 'mso_mdoc'],
      { credentialSubject, [NAMESPACE]: elements, nickname: 'ada' },
      /credential_dataset\.nickname: no format of this session takes it/,
    ],
    [
      'a subject beside other claims, where no W3C format is named',
      ['dc+sd-jwt', 'mso_mdoc'],
      { credentialSubject, [NAMESPACE]: elements, nickname: 'ada' },
      /credential_dataset\.credentialSubject: no format of this session takes it/,
    ],
    [
      'no subject for a W3C format',
      ['jwt_vc_json-ld', 'dc+sd-jwt'],
      { nickname: 'ada' },
      /credential_dataset\.credentialSubject: it must be an object/,
    ],
    [
      'no namespace for an mdoc',
      ['jwt_vc_json-ld', 'mso_mdoc'],
      { credentialSubject },
      /credential_dataset: it must have a namespace/,
    ],
    [
      'nothing for an SD-JWT VC',
      ['dc+sd-jwt', 'mso_mdoc'],
      { [NAMESPACE]: elements },
      /credential_dataset: it has no claims for the format dc\+sd-jwt/,
    ],
    [
      'a registered claim of the SD-JWT VC beside the subject',
      ['jwt_vc_json-ld', 'dc+sd-jwt'],
      { credentialSubject, iss: 'https://other.example' },
      /credential_dataset\.iss: the issuer writes this claim/,
    ],
  ])('refuses by name %s', async (_, formats, dataset, why) => {
    const refused = await refusalOf(await start(formats, { credential_dataset: dataset }))
    expect(refused).toMatch(/^400 invalid_request /)
    expect(refused).toMatch(why)
  })
})
