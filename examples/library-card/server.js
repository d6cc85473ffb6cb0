// A library that issues cards to wallets, is told when one has arrived, takes cards back, and asks for one at its door.
import { randomUUID } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import Fastify from 'fastify'
import { createIssuerClient, createVerifierClient, readCallback, ServiceError } from 'vouchsafe/server'

const { ISSUER_URL, ISSUER_API_KEY, VERIFIER_URL, VERIFIER_API_KEY, CALLBACK_SECRET, PORT = '3000' } = process.env
// Each start without them makes another of each: keep the ids of the first start, as settings of the application.
const { CONFIGURATION, QUERY } = process.env
const issuer = createIssuerClient({ url: ISSUER_URL, apiKey: ISSUER_API_KEY })
const verifier = createVerifierClient({ url: VERIFIER_URL, apiKey: VERIFIER_API_KEY })

const VCT = 'https://library.example/card'
const configuration =
  CONFIGURATION ||
  (await issuer.createConfiguration({
    format: 'dc+sd-jwt',
    vct: VCT,
    credential_metadata: {
      display: [{ name: 'Library card', background_color: '#174d3c', text_color: '#ffffff' }],
      claims: [
        { path: ['name'], mandatory: true },
        { path: ['card_number'], mandatory: true },
      ],
    },
  }))
const query =
  QUERY ||
  (await verifier.createQuery({
    credentials: [{ id: 'card', format: 'dc+sd-jwt', meta: { vct_values: [VCT] }, claims: [{ path: ['name'] }] }],
  }))
console.log(`CONFIGURATION=${configuration} QUERY=${query}`)

// What a database would keep: the session of each card and of each visit, by an id of the library's own. A page never
// sees the id of a session, nor an API key.
const cards = new Map()
const visits = new Map()

const app = Fastify()
// A callback is verified over its bytes, so none of them may be lost before.
app.addContentTypeParser('application/json', { parseAs: 'buffer' }, (_request, body, done) => done(null, body))

const files = [
  ['/', 'public/index.html', 'text/html; charset=utf-8'],
  ['/page.js', 'public/page.js', 'text/javascript; charset=utf-8'],
  ['/element.js', fileURLToPath(import.meta.resolve('vouchsafe/element')), 'text/javascript; charset=utf-8'],
]
for (const [path, file, type] of files) {
  app.get(path, (_request, reply) => {
    const place = file.startsWith('/') ? file : join(import.meta.dirname, file)
    return reply.type(type).send(createReadStream(place))
  })
}

app.post('/cards', async (request) => {
  const { name } = JSON.parse(request.body.toString())
  const number = String(1000 + cards.size)
  const { session_id, credential_offer_uri } = await issuer.startSession({
    credential_configurations: [configuration],
    credential_dataset: { name: String(name), card_number: number },
  })
  const id = randomUUID()
  cards.set(id, { session: session_id, number, isReceived: false })
  return { id, link: credential_offer_uri }
})

app.get('/cards/:id', async (request, reply) => {
  const card = cards.get(request.params.id)
  if (card === undefined) return reply.code(404).send({ error: 'no such card' })
  const { status, expires_at, offer_fetched_at } = await issuer.getSession(card.session)
  return { status, expires_at, offer_fetched_at, number: card.number, isReceived: card.isReceived }
})

app.post('/cards/:id/revoke', async (request, reply) => {
  const card = cards.get(request.params.id)
  if (card === undefined) return reply.code(404).send({ error: 'no such card' })
  return { status: (await issuer.revoke(card.session)).credential_status }
})

// The issuer tells the end of each session here.
app.post('/callbacks', async (request, reply) => {
  const headers = new Headers(request.headers)
  const event = await readCallback({ headers, body: request.body }, { secret: CALLBACK_SECRET })
  if (event === undefined) return reply.code(401).send()
  for (const card of cards.values()) {
    if (event.type === 'issuance.succeeded' && card.session === event.data.session_id) card.isReceived = true
  }
  return reply.code(204).send()
})

app.post('/visits', async () => {
  const { session_id, request_uri } = await verifier.startSession({ verification_query_id: query })
  const id = randomUUID()
  visits.set(id, session_id)
  return { id, link: request_uri }
})

app.get('/visits/:id', async (request, reply) => {
  const session = visits.get(request.params.id)
  if (session === undefined) return reply.code(404).send({ error: 'no such visit' })
  const { status, expires_at, result } = await verifier.getSession(session)
  // Claims count only when everything was verified.
  const name = result?.verified ? result.credentials.card?.[0]?.claims?.name : undefined
  const reasons = (result?.credentials.card?.[0]?.checks ?? []).filter(({ outcome }) => outcome === 'failed')
  return { status, expires_at, name, reasons: reasons.map(({ asks, detail }) => `${asks} No: ${detail}.`) }
})

app.setErrorHandler((error, _request, reply) => {
  console.error(error.message, error instanceof ServiceError ? error.requestId : '')
  return reply.code(502).send({ error: 'the library cannot do that now' })
})

await app.listen({ port: Number(PORT), host: '127.0.0.1' })
console.log(`The library is open: http://localhost:${app.server.address().port}`)
