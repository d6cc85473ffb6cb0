import { describe, expect, it } from 'vitest'
import { EngineSettings } from '../engine/config.ts'
import { IssuerSettings } from '../issuer/config.ts'
import { VerifierSettings } from '../verifier/config.ts'
import {
  type Environment,
  hasSettings,
  nameVariables,
  readEnvironment,
  type SettingsShape,
  settingsByVariable,
} from './environment.ts'

const noFile = (path: string): string => {
  throw Object.assign(new Error(`ENOENT: ${path}`), { code: 'ENOENT' })
}
const issuer = (environment: Environment, value: unknown = {}, read = noFile) =>
  readEnvironment(IssuerSettings, value, environment, read)

const SERVICES: readonly (readonly [string, SettingsShape])[] = [
  ['issuer', IssuerSettings],
  ['verifier', VerifierSettings],
  ['engine', EngineSettings],
]

describe('the settings of the environment', () => {
  it.each([
    ['a text as it is', { VOUCHSAFE_BASE_URL: 'https://a.example' }, { baseUrl: 'https://a.example' }],
    ['a text that looks like a number', { VOUCHSAFE_DATABASE__PASSWORD: '0012' }, { database: { password: '0012' } }],
    ['a number', { VOUCHSAFE_PORT: '8443' }, { port: 8443 }],
    ['an object as JSON', { VOUCHSAFE_STOPPING: '{"graceSeconds":5}' }, { stopping: { graceSeconds: 5 } }],
    ['a list as JSON', { VOUCHSAFE_SIGNING__CERTIFICATE_FILES: '["a"]' }, { signing: { certificateFiles: ['a'] } }],
    [
      'a member of an object that another variable gives',
      { VOUCHSAFE_STOPPING__GRACE_SECONDS: '9', VOUCHSAFE_STOPPING: '{"graceSeconds":5}' },
      { stopping: { graceSeconds: 9 } },
    ],
    ['nothing where it is empty', { VOUCHSAFE_HOST: '' }, {}],
    [
      'nothing of other commands',
      { VOUCHSAFE_WALLET_HOME: '/w', VOUCHSAFE_TEST_BROWSER: 'required', PATH: '/bin' },
      {},
    ],
  ])('have %s', (_, environment, settings) => {
    expect(issuer(environment)).toEqual({ value: settings })
  })

  it('go before those of the file, which keeps all others', () => {
    const file = { port: 1, database: { url: 'sqlite:a', generation: 1 } }
    expect(issuer({ VOUCHSAFE_PORT: '2', VOUCHSAFE_DATABASE__GENERATION: '2' }, file)).toEqual({
      value: { port: 2, database: { url: 'sqlite:a', generation: 2 } },
    })
    expect(file).toEqual({ port: 1, database: { url: 'sqlite:a', generation: 1 } })
  })

  it('come from files where the variable says so, without the end of their last line', () => {
    const files: Record<string, string> = { '/run/password': 'pass word\n', '/run/keys': '{"k":"app"}' }
    const environment = {
      VOUCHSAFE_DATABASE__PASSWORD_FILE: '/run/password',
      VOUCHSAFE_INTEGRATIONS__AUTHENTICATION_FILE: '/run/keys',
      // The name of this setting itself ends so: the service reads the file.
      VOUCHSAFE_SECRETS_FILE: '/run/secrets',
    }
    expect(issuer(environment, {}, (path) => files[path] ?? noFile(path))).toEqual({
      value: {
        database: { password: 'pass word' },
        integrations: { authentication: { k: 'app' } },
        secretsFile: '/run/secrets',
      },
    })
  })

  it('of a member go before that of its object, also where the latter names a file', () => {
    const environment = { VOUCHSAFE_ISSUER__ID: 'https://a.example', VOUCHSAFE_ISSUER_FILE: '/run/issuer' }
    const file = '{"id":"https://b.example","display":[]}'
    expect(issuer(environment, {}, () => file)).toEqual({ value: { issuer: { id: 'https://a.example', display: [] } } })
  })

  it('that name a file go before those with the value', () => {
    const environment = { VOUCHSAFE_PORT: '1', VOUCHSAFE_PORT_FILE: '/run/port' }
    expect(issuer(environment, {}, () => '2\n')).toEqual({ value: { port: 2 } })
  })

  it.each([
    ['VOUCHSAFE_BASEURL', 'x', 'no setting of this service has this name; did you mean VOUCHSAFE_BASE_URL?'],
    [
      'VOUCHSAFE_ISSUER_PORT',
      'tcp://10.0.0.1:8079',
      /Kubernetes sets such variables by itself; turn that off with enableServiceLinks: false/,
    ],
    ['VOUCHSAFE_PORT', 'tcp://secret', /must be JSON, as port has it/],
    ['VOUCHSAFE_STOPPING', '{"graceSeconds":1,"graceSeconds":2}', /must be JSON/],
    ['VOUCHSAFE_DATABASE__PASSWORD_FILE', '/nowhere', '/nowhere cannot be read: there is no such file'],
    ['VOUCHSAFE___PROTO__', '{}', /no setting/],
  ])('with %s of %s are refused, and no value is told', (variable, text, mistake) => {
    const result = issuer({ [variable]: text })
    const mistakes = 'mistakes' in result ? result.mistakes : []
    const expected =
      typeof mistake === 'string' ? `${variable}: ${mistake}` : (expect.stringMatching(mistake) as string)
    expect(mistakes).toEqual([expected])
    expect(mistakes[0]).not.toMatch(/secret/)
  })

  it('are named behind mistakes of the settings that they set', () => {
    const mistakes = ['workers: must be an integer', 'signing.certificateFiles[0]: no', 'host: no', 'workersX: no']
    const environment = {
      VOUCHSAFE_WORKERS: 'true',
      VOUCHSAFE_SIGNING: '{}',
      VOUCHSAFE_SIGNING__CERTIFICATE_FILES: '["a"]',
    }
    expect(nameVariables(IssuerSettings, mistakes, environment)).toEqual([
      'workers: must be an integer (set by VOUCHSAFE_WORKERS)',
      'signing.certificateFiles[0]: no (set by VOUCHSAFE_SIGNING__CERTIFICATE_FILES)',
      'host: no',
      'workersX: no',
    ])
  })

  it('are there where a variable of a setting is', () => {
    expect(hasSettings({ VOUCHSAFE_PORT: '1' })).toBe(true)
    expect(hasSettings({ VOUCHSAFE_PORT: '', VOUCHSAFE_ISSUER_API_KEY: 'k', HOME: '/' })).toBe(false)
    expect(hasSettings({ VOUCHSAFE_ENGINE_API_KEYS: 'a-key -' })).toBe(false)
  })
})

describe.each(SERVICES)('the variables of the settings of an %s', (_, schema) => {
  const names = settingsByVariable(schema)

  it('are one for each setting and each member', () => {
    const count = ({ properties = {} }: SettingsShape): number =>
      Object.values(properties).reduce((sum, member) => sum + 1 + count(member), 0)
    expect(names.size).toBe(count(schema))
    expect(names.size).toBeGreaterThan(30)
    for (const name of names.keys()) expect(name).toMatch(/^VOUCHSAFE_[A-Z0-9]+(_{1,2}[A-Z0-9]+)*$/)
  })

  it('are none that another command has, and none that names the file of another setting', () => {
    for (const name of names.keys()) {
      expect([name, hasSettings({ [name]: 'x' })]).toEqual([name, true])
      expect([name, names.has(`${name}_FILE`)]).toEqual([name, false])
    }
  })
})
