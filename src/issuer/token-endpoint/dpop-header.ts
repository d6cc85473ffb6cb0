/** DPoP in the headers of requests and answers. RFC 9449 sections 4.1 and 8. */
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { IssuerContext } from '../context.ts'
import type { ProvedRequest } from './dpop.ts'

/** Every answer to a wallet that uses DPoP has the nonce of its next proof. RFC 9449 section 8.2. */
export function offerDpopNonce({ dpopNonces, now }: IssuerContext) {
  return ({ headers }: FastifyRequest, reply: FastifyReply, done: () => void): void => {
    const usesDpop = headers.dpop !== undefined || /^DPoP /i.test(headers.authorization ?? '')
    if (usesDpop) reply.header('dpop-nonce', dpopNonces.current(now()))
    done()
  }
}

/** The request as far as a proof is about it. */
export function provedRequest({ headers, method, url }: FastifyRequest): ProvedRequest {
  const { dpop } = headers
  // A request may name the whole address, of which the router takes the path. RFC 9112 section 3.2.2.
  const [path = ''] = url.replace(/^https?:\/\/[^/]*/, '').split('?', 1)
  return { dpop: typeof dpop === 'string' ? dpop : dpop?.join(), method, path }
}
