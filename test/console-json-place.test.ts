import { describe, expect, it } from 'vitest'
import { lineOfPath, lineOfSyntaxError } from '../console/json-place.ts'

describe('the line of a mistake in a text of JSON', () => {
  it.each([
    ['{\n  "a": [}\n}', 2],
    ['{\n  "a": 1\n  "b": 2\n}', 3],
    ['{\n  "a": 1,\n}', 3],
    ['{\n  "a": "b\n}', 3],
    ['{\n  "a": 1\n}\nx', 4],
    ['{\n  "a": [1,\n', 2],
    ['', 1],
  ])('%j is in line %i', (text, line) => {
    expect(() => JSON.parse(text) as unknown).toThrow()
    expect(lineOfSyntaxError(text)).toBe(line)
  })

  it.each([
    ['credentials[0].claims', 4],
    ['credentials[0].claims[1].path', 6],
    ['credentials[0].nothing', 3],
    ['nothing', 1],
  ])('that a service names by %s is in line %i', (path, line) => {
    const query = ['{', '"credentials": [', '{', '"claims": [', '{"path": ["a"]},', '{"path": []}]}]}'].join('\n')
    expect(lineOfPath(query, path)).toBe(line)
  })
})
