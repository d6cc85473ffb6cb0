/**
 * A component in core WebAssembly, written by hand in the binary format of its specification: it counts requests by
 * POST in one byte of storage, and answers each request with that byte.
 */
const HOOK = 'off_chain_on_http_request'

const hex = (text: string): Buffer => Buffer.from(text.replaceAll(' ', ''), 'hex')
/** A name or any other bytes behind their length, which stays below 128. */
const sized = (bytes: Uint8Array | string): Buffer => Buffer.concat([Buffer.of(bytes.length), Buffer.from(bytes)])
const section = (id: number, ...parts: readonly Uint8Array[]): Buffer =>
  Buffer.concat([Buffer.of(id), sized(Buffer.concat(parts))])

/** Two locals are the pointer to the input and its length; the third is what a call of the engine gives. */
const CODE = [
  '01 01 7e', // one more local, i64
  '41 21 41 00 41 0a 10 00 22 02', // load the value: call(0x21, 0, 10), which gives its result and its length
  '42 7f 52 04 40', // unless there is none, which is -1
  '20 02 42 20 88 a7 41 0f 10 01', // result(upper half, 15)
  '0b',
  '20 00 2d 00 2e 41 d0 00 46 04 40', // where the method, at 46 of the input, begins with P
  '41 0f 41 0f 2d 00 00 41 01 6a 3a 00 00', // one more
  '41 20 41 00 41 10 10 00 1a', // store the value: call(0x20, 0, 16)
  '0b',
  '41 35 41 0f 2d 00 00 3a 00 00', // the value is the body of the response
  '42 20', // which is at 32
  '0b',
]

/**
 * Bucket and key in 10 bytes, then a value of one byte; and a response: section 0x22, status 200, no headers, a body of
 * one byte.
 */
const DATA = [
  [0, '00000001 62 00000001 6b 01 00000001 00'],
  [32, '00000012 22 0000000d 000000c8 00000000 00000001 00'],
] as const

export const coreModule: Uint8Array = Buffer.concat([
  hex('0061736d 01000000'),
  section(1, hex('03 60037f7f7f017e 60027f7f00 60027f7f017e')), // types: of call, of result, of the hook
  section(
    2,
    hex('02'),
    sized('offchain'),
    sized('call'),
    hex('00 00'),
    sized('offchain'),
    sized('result'),
    hex('00 01'),
  ),
  section(3, hex('01 02')), // the hook is function 2
  section(5, hex('01 00 01')), // one page of memory
  section(7, hex('02'), sized('memory'), hex('02 00'), sized(HOOK), hex('00 02')),
  section(10, hex('01'), sized(hex(CODE.join('')))),
  section(11, hex('02'), ...DATA.flatMap(([at, bytes]) => [Buffer.of(0, 0x41, at, 0x0b), sized(hex(bytes))])),
])
