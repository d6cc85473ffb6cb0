/** A component that does whatever a request asks it to do wrong. */
export const FAULTY = `import { component, json, text } from 'vouchsafe/component'
const deep = (n) => 1 + deep(n + 1)
component({
  http: (request, context) => {
    const shelf = context.storage('shelf')
    const has = (key) => shelf.get(key) !== undefined
    switch (request.path) {
      case '/spin': for (;;);
      case '/allocate': { const all = []; for (;;) all.push(new Uint8Array(1 << 20).fill(1)) }
      case '/recurse': return text(200, String(deep(1)))
      case '/trap': shelf.set('trap', 'x'); context.transact(new Uint8Array(4)); throw new Error('on purpose')
      case '/garbage': shelf.set('garbage', 'x'); return { status: 7, body: 'x' }
      case '/flood': for (let n = 0; ; n++) shelf.set(String(n), new Uint8Array(65536))
      case '/fill': shelf.set(request.query.key, new Uint8Array(300000)); return text(201, '')
      case '/ask': { const { status, body } = context.fetch({ url: request.query.url }); return json(200, { status, said: new TextDecoder().decode(body) }) }
      case '/hold': {
        shelf.set('before', 'x')
        context.fetch({ url: request.query.url })
        shelf.set('after', 'x')
        return text(201, '')
      }
      case '/left': return json(200, ['trap', 'garbage', '0', 'before', 'after'].filter(has))
      case '/count': {
        const n = Number(new TextDecoder().decode(shelf.get('n') ?? new Uint8Array(0))) + 1
        shelf.set('n', String(n))
        return json(201, { n })
      }
      case '/post': context.transact(request.body); return text(202, '')
      default: return text(200, request.uri)
    }
  },
})`
