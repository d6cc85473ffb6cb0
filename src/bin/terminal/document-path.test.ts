import { join } from 'node:path'
import { expect, it } from 'vitest'
import { documentPath } from './document-path.ts'

it('a document is named by its path in this installation, and one that is not installed by its name', () => {
  expect(documentPath('docs/reference.md')).toBe(join(import.meta.dirname, '../../../docs/reference.md'))
  expect(documentPath('docs/not-there.md')).toBe('docs/not-there.md')
})
