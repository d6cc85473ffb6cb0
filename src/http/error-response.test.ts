/** Tests that the responses which the OpenAPI document says to have a challenge have one. RFC 9110 section 11.6.1. */
import fastify from 'fastify'
import { expect, it } from 'vitest'
import { type ErrorCode, HTTP_STATUS, ProtocolError } from '../protocol/error.ts'
import { sendError } from './error-response.ts'

it.each(Object.entries(HTTP_STATUS))(
  '%s has a challenge only where its status, %i, is 401 or 403',
  async (code, status) => {
    const app = fastify()
    app.get('/', (request, reply) => sendError(new ProtocolError(code as ErrorCode, 'no'), request, reply))
    const response = await app.inject('/')
    expect(response.statusCode).toBe(status)
    expect('www-authenticate' in response.headers).toBe(status === 401 || status === 403)
  },
)
