/** The names of credential configurations and claims in the console. */
import { afterEach, expect, it, vi } from 'vitest'
import type { OfferedConfiguration } from '../console/clients.ts'
import {
  configurationName,
  displayOfConfiguration,
  labelClaims,
  labelsOfType,
  nameConfigurations,
} from '../console/labels.ts'

const named = (name: string): OfferedConfiguration => ({
  format: 'dc+sd-jwt',
  credential_metadata: { display: [{ name }] },
})

afterEach(() => void vi.unstubAllGlobals())

it('configurations of one name are told apart by their ids', () => {
  vi.stubGlobal('navigator', { languages: ['en'] })
  const configurations = new Map([
    ['first-of-two-configurations', named('Student card')],
    ['second-of-two', named('Student card')],
    ['third', named('Diploma')],
  ])
  expect(nameConfigurations(configurations)).toEqual([
    ['first-of-two-configurations', 'Student card · first-of-t…'],
    ['second-of-two', 'Student card · second-of-…'],
    ['third', 'Diploma'],
  ])
})

it('claims of one label are told apart by where they stand', () => {
  vi.stubGlobal('navigator', { languages: ['en'] })
  const country = [{ name: 'Country' }]
  const claims = [
    { path: ['address', 'country'], display: country },
    { path: ['birth', 'country'], display: country },
    { path: ['address', 'city'] },
    { path: ['birth', 'city'] },
    { path: ['given_name'], display: [{ name: 'Given name' }] },
  ]
  const labels = ['Country · address.country', 'Country · birth.country', 'address.city', 'birth.city', 'Given name']
  expect(labelClaims(claims)).toEqual(labels)
  const configuration = { format: 'dc+sd-jwt', vct: 'person', credential_metadata: { claims } }
  // Two configurations of one type have the same claims, each under one label.
  expect([...labelsOfType([configuration, configuration], ['person']).values()]).toEqual(labels)
})

it('a configuration and its claims have the names of the browser’s languages', () => {
  vi.stubGlobal('navigator', { languages: ['de-AT', 'en'] })
  const display = [
    { name: 'Student card', locale: 'en', background_color: '#102030' },
    { name: 'Studierendenausweis', locale: 'de-DE' },
  ]
  const configuration = { format: 'dc+sd-jwt', vct: 'card', credential_metadata: { display } }
  expect(configurationName('id', configuration)).toBe('Studierendenausweis')
  expect(displayOfConfiguration(configuration)).toEqual(display[1])
  expect(labelClaims([{ path: ['name'], display }])).toEqual(['Studierendenausweis'])
})
