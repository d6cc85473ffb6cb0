/** Makes WebAssembly modules from their text. */
import wabt from 'wabt'

type Wabt = Awaited<ReturnType<typeof wabt>>
let compiler: Promise<Wabt> | undefined

/** Returns the binary form of a module in text form. */
export async function binaryOf(text: string): Promise<Uint8Array> {
  compiler ??= wabt()
  const loaded = await compiler
  const module = loaded.parseWat('module.wat', text, {
    bulk_memory: true,
    reference_types: true,
    simd: true,
    exceptions: true,
  })
  const { buffer } = module.toBinary({})
  module.destroy()
  return buffer
}

/** Writes one hook; `body` has `$ptr` and `$len`, and leaves an i64. */
export function moduleText(
  body: string,
  {
    more = '',
    before = '',
    hook = 'off_chain_on_http_request',
    memory = '1',
    signature = '(param $ptr i32) (param $len i32) (result i64)',
  } = {},
): string {
  return `(module
    (import "offchain" "call" (func $call (param i32 i32 i32) (result i64)))
    (import "offchain" "result" (func $result (param i32 i32)))
    (import "offchain" "exit" (func $exit (param i32 i32)))
    ${before}
    (memory (export "memory") ${memory})
    ${more}
    (func (export "${hook}") ${signature} ${body}))`
}

/** Stores a number of 32 bits at an address, big-endian. */
const big = (at: number, value: string): string =>
  [24, 16, 8, 0]
    .map((shift, index) => `(i32.store8 (i32.const ${at + index}) (i32.shr_u ${value} (i32.const ${shift})))`)
    .join('')

/** Answers with status 200 what bucket "b" has under the key "k", with one question to the engine. */
export const readsStorage = moduleText(
  `(local $packed i64) (local $size i32)
  (local.set $packed (call $call (i32.const 0x21) (i32.const 0) (i32.const 10)))
  (local.set $size (i32.wrap_i64 (local.get $packed)))
  (call $result (i32.wrap_i64 (i64.shr_u (local.get $packed) (i64.const 32))) (i32.const 1021))
  ${big(1000, '(i32.add (local.get $size) (i32.const 17))')}
  (i32.store8 (i32.const 1004) (i32.const 0x22))
  ${big(1005, '(i32.add (local.get $size) (i32.const 12))')}
  ${big(1009, '(i32.const 200)')}
  ${big(1017, '(local.get $size)')}
  (i64.const 1000)`,
  { more: '(data (i32.const 0) "\\00\\00\\00\\01b\\00\\00\\00\\01k")' },
)
