import { expect, it } from 'vitest'
import { preflightHeaders } from './cors.ts'

it.each([
  ['PROPFIND', 'GET, HEAD, POST, PUT, PATCH, DELETE, PROPFIND'],
  ['ET', 'GET, HEAD, POST, PUT, PATCH, DELETE, ET'],
  ['POST', 'GET, HEAD, POST, PUT, PATCH, DELETE'],
])('a preflight for %s names it among the methods, once', (method, methods) => {
  expect(new Map(preflightHeaders({ method, headers: undefined })).get('access-control-allow-methods')).toBe(methods)
})
