import { describe, expect, it } from 'vitest'
import { call, LIMITS, script } from '../../test/support/components.ts'
import { operation } from '../offchain/hosted.ts'
import { type HttpRequestData, writeRequest } from '../offchain/http-data.ts'
import { writer } from '../offchain/rpc.ts'
import { createHostOperations, type WorkerFunctions } from './host-operations.ts'
import { callHost, callMessage, type HostRequest } from './messages.ts'
import type { Host } from './runtime.ts'

const MIB = 1024 * 1024
const workerOf = (ask: WorkerFunctions['ask']): WorkerFunctions => ({
  limits: LIMITS,
  authenticate: () => undefined,
  random: (length) => new Uint8Array(length),
  ask,
})

/** Runs one operation, and returns the error, and the questions that it asks the engine. */
function runOperation(code: number, operand: Uint8Array) {
  const questions: HostRequest[] = []
  const ask = (hostRequest: HostRequest) => {
    questions.push(hostRequest)
    if (hostRequest.ask === 'send') return { status: 200, headers: [], body: new Uint8Array() }
    return hostRequest.ask === 'readContract' ? new Uint8Array(1) : undefined
  }
  const hosted = createHostOperations(callMessage(call(script(''))), workerOf(ask))
  try {
    hosted.call(code, operand)
    return { questions, error: undefined }
  } catch (error) {
    return { questions, error: (error as Error).message }
  }
}

const read = (length: number): Uint8Array => writer().bytes(new Uint8Array(length)).done()
const key = (length: number): Uint8Array => writer().text('k'.repeat(length)).done()
const request = (over: Partial<HttpRequestData>): Uint8Array =>
  writeRequest({ method: 'GET', uri: 'https://api.example/', headers: [], body: new Uint8Array(), ...over }).done()
const url = (length: number): Uint8Array => request({ uri: 'https://'.padEnd(length, 'a'), method: '' })
const body = (length: number): Uint8Array => request({ body: new Uint8Array(length) })
const headers = (count: number): Uint8Array => request({ headers: Array(count).fill({ name: 'a', values: [] }) })
const values = (count: number): Uint8Array => request({ headers: [{ name: 'a', values: Array(count).fill('') }] })
const header = (length: number): Uint8Array => request({ headers: [{ name: 'a', values: ['v'.repeat(length - 1)] }] })

describe('a question to the engine, whose thread serves all requests', () => {
  it.each([
    [
      'the input of a read',
      operation.readContract,
      read,
      131_072,
      /bytes in the input of a read: 131073; the most are 131072/,
    ],
    [
      'a key of the configuration',
      operation.configuration,
      key,
      131_072,
      /key of the configuration: 131073; .* 131072/,
    ],
    ['the URL of a request', operation.sendHttpRequest, url, 2048, /URL of a request: 2049; .* 2048/],
    [
      'the body of a request',
      operation.sendHttpRequest,
      body,
      65_536,
      /has 65537 bytes; limits\.outboundBytes is 65536/,
    ],
    ['the headers of a request', operation.sendHttpRequest, headers, 128, /more than 128 headers/],
    ['the values of a header', operation.sendHttpRequest, values, 128, /more than 128 headers/],
    ['the length of the headers', operation.sendHttpRequest, header, 32_768, /headers of more than 32768 characters/],
  ])('has a limit: %s', (_, code, make, most, refusal) => {
    expect(runOperation(code, make(most))).toMatchObject({ questions: [{}], error: undefined })
    expect(runOperation(code, make(most + 1))).toEqual({
      questions: [],
      error: expect.stringMatching(refusal) as string,
    })
  })

  it('has a limit: the method of a request', () => {
    const { questions, error } = runOperation(operation.sendHttpRequest, request({ method: 'G'.repeat(10_000) }))
    expect([questions, error]).toEqual([[], expect.stringMatching(/URL of a request: 10020; .* 2048/)])
  })

  it.each([
    ['a request', LIMITS.httpReads, /limits\.httpReads is 4/, undefined],
    ['a change of state', LIMITS.stateChangeReads, /limits\.stateChangeReads is 8/, { kind: 'state-change' }],
  ] as const)('is asked about the contract as often as a limit says: %s', (_, most, refusal, hook) => {
    const hosted = createHostOperations(
      callMessage(call(script(''), hook && { hook })),
      workerOf(() => new Uint8Array(1)),
    )
    const readOnce = () => hosted.call(operation.readContract, read(0))
    for (let done = 0; done < most; done++) readOnce()
    expect(readOnce).toThrow(refusal)
  })

  /** Makes a call whose loads all give a value of so many bytes, and counts its questions. */
  const loading = (bytes: number, hook?: { readonly kind: 'state-change' }) => {
    const asked = { questions: 0 }
    const worker = workerOf(({ ask }) => {
      asked.questions += 1
      return ask === 'listTimers' ? [] : ask === 'getGeneration' ? 'one' : new Uint8Array(bytes)
    })
    const limits = { ...LIMITS, memoryBytes: 64 * MIB }
    const hosted = createHostOperations(callMessage(call(script(''), hook && { hook })), { ...worker, limits })
    const load = (at: number) =>
      hosted.call(
        operation.storageLoad,
        writer()
          .bytes(new Uint8Array(1))
          .bytes(Buffer.from(String(at)))
          .done(),
      )
    return { asked, hosted, load }
  }

  it('is of eight MiB at most for a request, with a KiB for each question', () => {
    const large = loading(MIB - 1024)
    for (let at = 0; at < 8; at++) large.load(at)
    expect(() => large.load(8)).toThrow(/asks the engine for too much: .* 8388608/)
    const small = loading(0)
    for (let at = 0; at < 8192; at++) small.load(at)
    expect(() => small.load(8192)).toThrow(/asks the engine for too much/)
  })

  it('is of what its memory allows for a change of state', () => {
    const { load, asked } = loading(MIB, { kind: 'state-change' })
    for (let at = 0; at < 10; at++) load(at)
    expect(asked.questions).toBe(10)
  })

  it('is asked once in a call for the timers and for the generation', () => {
    const { hosted, asked } = loading(0)
    for (let times = 0; times < 3; times++) {
      hosted.call(operation.timerList, new Uint8Array())
      hosted.call(operation.timerStatus, new Uint8Array(4))
      hosted.call(operation.generation, new Uint8Array())
    }
    expect(asked.questions).toBe(2)
  })

  it('names an operation of the engine, and nothing else that every object has', async () => {
    const hostRequest = { ask: 'valueOf', args: [] } as unknown as HostRequest
    await expect(callHost({} as Host, hostRequest)).rejects.toThrow('the engine has no operation valueOf')
  })
})
