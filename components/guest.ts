export interface Request {
  readonly method: string
  readonly uri: string
  readonly path: string
  readonly body: Uint8Array
  text(): string
  json(): unknown
}
export interface Response {
  readonly status: number
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: Uint8Array | string
}
export interface Bucket {
  get(key: string | Uint8Array): Uint8Array | undefined
  set(key: string | Uint8Array, value: Uint8Array): void
  delete(key: string | Uint8Array): void
}
export interface Context {
  readonly contract: string
  readonly engine: string
  readonly chainId: string
  readonly block: { readonly number: number; readonly time: Date }
  storage(bucket: string): Bucket
  transact(payload: Uint8Array, options?: { gas?: bigint }): void
  read(input: Uint8Array): Uint8Array
  random(length: number): Uint8Array
  now(): Date
  readonly timers: { schedule(id: number, delayMs: number, payload?: Uint8Array): void }
  authenticate(addresses: readonly string[]): string | undefined
  log(text: string): void
}
