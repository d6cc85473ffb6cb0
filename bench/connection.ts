/**
 * A keep-alive connection with one request at a time: as much HTTP as the load generator needs, so that it stays
 * cheaper than what it measures. Bodies must come with a Content-Length; anything else ends the run.
 */
import { connect, type Socket } from 'node:net'

export interface Answer {
  readonly status: number
  readonly type: string
  readonly body: string
}

export interface Request {
  readonly method: 'GET' | 'POST' | 'PUT'
  readonly path: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string
}

export interface Connection {
  send(request: Request): Promise<Answer>
  close(): void
}

const END_OF_HEAD = '\r\n\r\n'

export async function openConnection(port: number): Promise<Connection> {
  const socket = connect({ port, host: '127.0.0.1', noDelay: true })
  await new Promise<void>((resolve, reject) => socket.once('connect', resolve).once('error', reject))
  return onSocket(socket, port)
}

function onSocket(socket: Socket, port: number): Connection {
  let waiting: { resolve: (answer: Answer) => void; reject: (error: Error) => void } | undefined
  let receivedBytes: Buffer = Buffer.alloc(0)
  const fail = (error: Error): void => {
    waiting?.reject(error)
    waiting = undefined
  }
  socket.on('data', (chunk) => {
    receivedBytes = receivedBytes.length === 0 ? chunk : Buffer.concat([receivedBytes, chunk])
    try {
      const answer = readAnswer(receivedBytes)
      if (answer === undefined) return
      receivedBytes = Buffer.alloc(0)
      const { resolve } = waiting ?? refuseAnswer()
      waiting = undefined
      resolve(answer)
    } catch (error) {
      fail(error as Error)
    }
  })
  socket.on('error', fail)
  socket.on('close', () => fail(new Error('the server closed the connection')))
  return {
    send: (request) =>
      new Promise((resolve, reject) => {
        waiting = { resolve, reject }
        socket.write(requestText(request, port))
      }),
    close: () => void socket.destroy(),
  }
}

function requestText({ method, path, headers = {}, body }: Request, port: number): string {
  const lines = [`${method} ${path} HTTP/1.1`, `host: 127.0.0.1:${port}`]
  for (const [name, value] of Object.entries(headers)) lines.push(`${name}: ${value}`)
  if (method !== 'GET') lines.push(`content-length: ${Buffer.byteLength(body ?? '')}`)
  return `${lines.join('\r\n')}${END_OF_HEAD}${body ?? ''}`
}

/** Reads the whole answer, or returns undefined when there is more to come. */
function readAnswer(receivedBytes: Buffer): Answer | undefined {
  const end = receivedBytes.indexOf(END_OF_HEAD)
  if (end === -1) return undefined
  const head = receivedBytes.toString('latin1', 0, end)
  const status = Number(head.slice(9, 12))
  const [, length] = status === 304 ? [head, '0'] : (/^content-length: *(\d+)/im.exec(head) ?? [])
  if (length === undefined) throw new Error(`an answer without Content-Length:\n${head}`)
  const bodyEnd = end + END_OF_HEAD.length + Number(length)
  if (receivedBytes.length > bodyEnd) refuseAnswer()
  if (receivedBytes.length < bodyEnd) return undefined
  const [, type = ''] = /^content-type: *(.*)$/im.exec(head) ?? []
  return { status, type, body: receivedBytes.toString('utf8', bodyEnd - Number(length)) }
}

function refuseAnswer(): never {
  throw new Error('the server sent something that nobody asked for')
}
