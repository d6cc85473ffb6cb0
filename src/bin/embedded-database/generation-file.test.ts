import { cpSync, mkdirSync, renameSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { temporaryDirectory } from '../../../test/support/command.ts'
import { readWitnesses, writeWitnesses } from './generation-file.ts'

it('gives the witnesses that were written, and none of a copy or where there is no file', () => {
  const directory = temporaryDirectory()
  const [file, copy] = [join(directory, 'one'), join(directory, 'other')]
  expect(readWitnesses(file)).toEqual([])
  writeWitnesses(file, ['first', 'second'])
  expect(readWitnesses(file)).toEqual(['first', 'second'])
  cpSync(file, copy)
  renameSync(copy, file)
  expect(readWitnesses(file)).toEqual([])
})

it('does not take a file that cannot be read for none', () => {
  const directory = join(temporaryDirectory(), 'directory')
  mkdirSync(directory)
  expect(() => readWitnesses(directory)).toThrow(
    `${directory} cannot be read (EISDIR): let the user of the service read it`,
  )
})
