import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { credentialServices } from '../service/credential-services.ts'
import { redactSettings } from './redact.ts'

const schema = credentialServices.issuer.settings
const redact = (value: unknown) => redactSettings(schema, value, (path) => path.startsWith('conf/'))

describe('a redacted configuration', () => {
  it('has numbers, choices, paths that lead somewhere, and the host of an address', () => {
    const settings = {
      port: 8079,
      host: '127.0.0.1',
      baseUrl: 'https://issuer.example',
      dpop: 'required',
      compatibility: ['draft13'],
      database: { url: 'jdbc:postgresql://me:planted@db.example:5432/x?password=planted', password: 'planted' },
      signing: { keyFile: 'conf/issuer.key', certificateFiles: ['conf/issuer.pem', 'planted'] },
      integrations: { authentication: { plantedplanted: 'planted' } },
      sessionCallback: { url: 'https://app.example/hooks/planted', apiKey: 'planted', secret: 'planted' },
      telemetry: { endpoint: 'https://o.example/planted', headers: { planted: 'planted' }, sampleRatio: 0.5 },
      planted: 'planted',
    }
    expect(redact(settings)).toEqual({
      port: 8079,
      host: '127.0.0.1',
      baseUrl: 'https://issuer.example',
      dpop: 'required',
      compatibility: ['draft13'],
      database: { url: 'postgresql://db.example:5432/…', password: '(set)' },
      signing: { keyFile: 'conf/issuer.key', certificateFiles: ['conf/issuer.pem', '(a path that leads nowhere)'] },
      integrations: { authentication: { '(members left out)': 1 } },
      sessionCallback: { url: 'https://app.example/…', apiKey: '(set)', secret: '(set)' },
      telemetry: { endpoint: 'https://o.example/…', headers: { '(members left out)': 1 }, sampleRatio: 0.5 },
      '(members left out)': 1,
    })
  })

  it('never has a text that stands in a place for something else, or as a name', () => {
    const planted = 'Planted-7f3a9c51'
    const places = [
      'port',
      'host',
      'host.a',
      'baseUrl',
      'dpop',
      'compatibility.0',
      'database.url',
      'database.pool',
      'signing.keyFile',
      'signing.certificateFiles.0',
      'integrations.authentication',
      'sessionCallback.secret',
      'issuer.id',
      'issuer.display.name',
      planted,
      `signing.${planted}`,
      `integrations.${planted}`,
    ]
    const shapes = [planted, [planted], { [planted]: planted }, `https://u:${planted}@a.example/${planted}#${planted}`]
    fc.assert(
      fc.property(fc.constantFrom(...places), fc.constantFrom(...shapes), (place, value) => {
        const nested = place.split('.').reduceRight<unknown>((inner, name) => ({ [name]: inner }), value)
        expect(JSON.stringify(redact(nested))).not.toContain(planted)
      }),
    )
  })
})
