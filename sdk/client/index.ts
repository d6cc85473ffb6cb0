/** The client of applications that use the engines of a contract: `vouchsafe/client`. */
export { type Address, parseAddress } from '../../src/offchain/address.ts'
export type { CallLimits, EngineAnswer, EngineRequest } from './call.ts'
export { type Download, type DownloadedSecret, downloadSecret } from './download.ts'
export { type EngineClient, type EngineClientOptions, engineClient } from './engine-client.ts'
export type { ChainReader, EngineList } from './engines.ts'
export { ClientError, type ClientErrorCode, EngineError, type EngineErrorCode } from './errors.ts'
export type { FanOut } from './fan-out.ts'
export type { Patience } from './inclusion.ts'
export {
  type Fault,
  type KeyPackage,
  keyPackage,
  type SigningEngine,
  SigningError,
  signTogether,
} from './key-management.ts'
export { type NodeChainOptions, nodeChain } from './node-chain.ts'
export { deleteSecret, parseSharingId, type SecretSharing, type SharingState, sharingStatus } from './secret-sharing.ts'
export { combineShares, type Scheme, type Share, type Split, splitSecret } from './shares.ts'
export { type Eip1193Provider, keySigner, type RequestSigner, walletSigner } from './signers.ts'
export { type Signing, signingEngines } from './signing-engines.ts'
export { type AccountTransactorOptions, accountTransactor, type Transactor } from './transactor.ts'
export { type NewSecret, prepareUpload, type Upload, type UploadOutcome, upload } from './upload.ts'
export { walletTransactor } from './wallet-transactor.ts'
