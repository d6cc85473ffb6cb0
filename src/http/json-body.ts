/** JSON bodies: bounded in depth, so that nothing later overflows the stack, and without `__proto__`. */
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
  const path = protoPath(body, '')
  if (path === undefined) parsed(null, body)
  else parsed(unreadable(`${path}: this name is reserved`))
}

function unreadable(why: string): Error {
  return Object.assign(new Error(why), { statusCode: 400 })
}

/** Where a member is named `__proto__`; nobody sends one who means well. */
function protoPath(value: Json, path: string): string | undefined {
  if (typeof value !== 'object' || value === null) return undefined
  for (const [name, member] of Object.entries(value)) {
    const place = Array.isArray(value) ? `${path}[${name}]` : path === '' ? name : `${path}.${name}`
    const found = name === '__proto__' ? place : protoPath(member, place)
    if (found !== undefined) return found
  }
  return undefined
}
