import { expect, it } from 'vitest'
import { preflightHeaders } from './cors.ts'

const COMPONENT_METHODS = 'GET, HEAD, POST, PUT, PATCH, DELETE'

it.each([
  ['PROPFIND', `${COMPONENT_METHODS}, PROPFIND`],
  ['ET', `${COMPONENT_METHODS}, ET`],
  ['POST', COMPONENT_METHODS],
])('a preflight for %s of a component names it among the methods, once', (method, methods) => {
  const headers = new Map(preflightHeaders({ isForComponent: true, method, headers: undefined }))
  expect(headers.get('access-control-allow-methods')).toBe(methods)
  expect(headers.get('allow')).toBe(`${COMPONENT_METHODS}, OPTIONS`)
})

it.each(['GET', 'DELETE', 'PROPFIND'])('a preflight for %s of a route of the engine names what that has', (method) => {
  const headers = new Map(preflightHeaders({ isForComponent: false, method, headers: undefined }))
  expect(headers.get('access-control-allow-methods')).toBe('GET, HEAD')
  expect(headers.get('allow')).toBe('GET, HEAD, OPTIONS')
})
