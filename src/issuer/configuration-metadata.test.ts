import { expect, it } from 'vitest'
import { ownConfigurationMembers } from '../credential/formats.ts'
import { CredentialConfiguration, INTERNAL_MEMBERS } from '../protocol/credential-configuration.ts'

it('publishes those posted members that the specification has, and hides every other', () => {
  const ownMembers: readonly string[] = ownConfigurationMembers.map(({ member }) => member)
  const members = Object.keys(CredentialConfiguration.properties)
  expect(members.filter((name) => !INTERNAL_MEMBERS.includes(name) && !ownMembers.includes(name))).toEqual([
    'format',
    'credential_definition',
    'vct',
    'doctype',
    'credential_metadata',
    'scope',
  ])
})
