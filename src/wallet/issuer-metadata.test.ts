import { describe, expect, it } from 'vitest'
import type { JsonObject } from '../codec/json.ts'
import { type IssuerDescription, readOfferedCredential } from './issuer-metadata.ts'

describe('the names of an offered credential', () => {
  const offered = (languages?: readonly string[]) => {
    const display = [
      { name: 'Student card', locale: 'en' },
      { name: 'Studierendenausweis', locale: 'de-DE' },
    ]
    const card: JsonObject = {
      format: 'dc+sd-jwt',
      vct: 'card',
      cryptographic_binding_methods_supported: ['jwk'],
      proof_types_supported: { jwt: { proof_signing_alg_values_supported: ['ES256'] } },
      credential_metadata: { display: ['not a display', ...display], claims: [{ path: ['name'], display }] },
    }
    const issuer = { configurations: { card } } as unknown as IssuerDescription
    return readOfferedCredential(languages === undefined ? {} : { languages }, issuer, 'card')
  }

  it.each([
    [['de-AT'], 'Studierendenausweis'],
    [['fr', 'en-US'], 'Student card'],
    [['fr'], 'Student card'],
    [undefined, 'Student card'],
  ])('for a holder who reads %j are %s', (languages, name) => {
    const { name: ownName, display, claimNames } = offered(languages)
    expect([ownName, display?.name, claimNames]).toEqual([name, name, [{ path: ['name'], name }]])
  })
})
