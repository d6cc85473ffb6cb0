/**
 * The questions that a component may ask its engine while it runs: numbered operations. 0x10 to 0x70 are of the public
 * off-chain interface, 0x80 and above are ours. Operands and results are in the RPC format; every operation answers
 * with bytes or with nothing.
 */
export const operation = {
  /**
   * contract address 21, payload Vec<u8>, gas u64 → nothing. Sent after the call has ended well; to its own contract
   * only.
   */
  sendTransaction: 0x10,
  /** bucket Vec<u8>, key Vec<u8>, Option<Vec<u8>>: none deletes → nothing */
  storageStore: 0x20,
  /** bucket Vec<u8>, key Vec<u8> → the value, or nothing when there is none */
  storageLoad: 0x21,
  /** HttpRequestData → HttpResponseData; status 600 and up when there was no answer, with the reason as the body */
  sendHttpRequest: 0x30,
  /** length u32 → so many bytes */
  random: 0x50,
  /** → u64 milliseconds since 1970 */
  currentTime: 0x51,
  /** id i32, payload Vec<u8>: runs as soon as this call has ended well → nothing */
  timerSpawn: 0x60,
  /** id i32 → u8, one of {@link timerStatus} */
  timerStatus: 0x61,
  /** id i32 → nothing */
  timerCancel: 0x62,
  /** → Vec<i32> */
  timerList: 0x63,
  /** id i32, delay i64 ms, payload Vec<u8>; the same id takes the place of what was scheduled → nothing */
  timerSchedule: 0x64,
  /** key String → the value in UTF-8, or nothing */
  configuration: 0x70,
  /** Vec of addresses 21 → the one of them that signed this HTTP request, 21 bytes, or nothing */
  authenticate: 0x80,
  /**
   * input Vec<u8>, which the chain understands (EVM: call data; Partisia: tree id and key) → what the contract answers
   * at this block
   */
  readContract: 0x81,
  /** String → nothing. For the operator's log; cut at limits.logBytes for each call. */
  log: 0x82,
  /** → chain id String, block number u64, block time u64 ms */
  block: 0x83,
  /** → String: another one after a backup of the engine's storage was put back */
  generation: 0x84,
  /** → SHA-256 of the body of this HTTP request, 32 bytes; nothing in any other call */
  bodyDigest: 0x85,
} as const

/** The answers of {@link operation.timerStatus}. */
export const timerStatus = { done: 1, running: 2, cancelled: 3, neverStarted: 4, failed: 5, scheduled: 6 } as const

/** The functions that a module exports, each (input pointer, length) → pointer to the result. */
export const hook = {
  httpRequest: 'off_chain_on_http_request',
  stateChange: 'off_chain_on_state_change',
  /** with the id of the timer in hexadecimal after it, without leading zeros */
  timer: 'off_chain_thread_',
  /** for contracts whose state is no documented interface: context and state → section {@link section.engines} */
  engines: 'off_chain_engines',
} as const

/** The ids of the parts of a hook's result: u32 length of all, then id u8, length u32, data; ids go up. */
export const section = { httpResponse: 0x22, engines: 0x30 } as const
