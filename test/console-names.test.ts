/** The names of credential configurations in the console. */
import { expect, it } from 'vitest'
import type { OfferedConfiguration } from '../console/clients.ts'
import { nameConfigurations } from '../console/labels.ts'

const named = (name: string): OfferedConfiguration => ({
  format: 'dc+sd-jwt',
  credential_metadata: { display: [{ name }] },
})

it('configurations of one name are told apart by their ids', () => {
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
