/** JSON bodies: bounded in depth, so that nothing later overflows the stack, and kept exactly as it was sent. */
import type { FastifyRequest } from 'fastify'
import { type Json, parseJson } from '../codec/json.ts'

type Parsed = (error: Error | null, body?: Json) => void

/** A content type parser for Fastify. What it refuses has the status 400, and the path where it can be told. */
export function parseJsonBody(_request: FastifyRequest, text: string, parsed: Parsed): void {
  let body: Json
  try {
    body = parseJson(text)
  } catch (error) {
    parsed(unreadable((error as Error).message))
    return
  }
  const problem = problemIn(body, '')
  if (problem === undefined) parsed(null, body)
  else parsed(unreadable(problem))
}

function unreadable(why: string): Error {
  return Object.assign(new Error(why), { statusCode: 400 })
}

/** What JSON allows and we do not: members named `__proto__`, and numbers that would be stored as other numbers. */
function problemIn(value: Json, path: string): string | undefined {
  if (typeof value === 'number')
    return isExact(value) ? undefined : `${path}: this number loses digits; send it as text`
  if (typeof value !== 'object' || value === null) return undefined
  for (const [name, member] of Object.entries(value)) {
    const place = Array.isArray(value) ? `${path}[${name}]` : path === '' ? name : `${path}.${name}`
    if (name === '__proto__') return `${place}: this name is reserved`
    const problem = problemIn(member, place)
    if (problem !== undefined) return problem
  }
  return undefined
}

function isExact(value: number): boolean {
  return Number.isInteger(value) ? Number.isSafeInteger(value) : Number.isFinite(value)
}
