/** How long it takes to look through a body, and what is refused in it. */
import type { FastifyRequest } from 'fastify'
import { expect, it } from 'vitest'
import { partOfLimit } from '../../test/support/processor-time.ts'
import { parseJsonBody } from './request-body.ts'

const request = { headers: {} } as FastifyRequest

function problemOf(body: string): string | undefined {
  let problem: string | undefined
  parseJsonBody(request, Buffer.from(body), (error) => {
    problem = error?.message
  })
  return problem
}

it.each([
  ['{"__proto__":{}}', '__proto__: this name is reserved'],
  ['{"a":{"b":[{"__proto__":null}]}}', 'a.b[0].__proto__: this name is reserved'],
  ['[[1,{"a":2},[{"\\u005f_proto__":1}]]]', '[0][2][0].__proto__: this name is reserved'],
  ['{"a":[null,true,"__proto__",{"b":[]}]}', undefined],
])('the reserved name in %s is refused by its path', (body, problem) => {
  expect(problemOf(body)).toBe(problem)
})

it.each([
  ['numbers', `[${'1,'.repeat(250_000)}1]`],
  ['arrays', `[${'[[]],'.repeat(90_000)}1]`],
])('half a megabyte of %s costs little', async (_, body) => {
  expect(await partOfLimit(25, () => problemOf(body))).toBeLessThan(1)
})
