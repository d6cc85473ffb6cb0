/** `vouchsafe wallet`: the reference wallet on the command line. With `--json`, the output is JSON. */
import { homedir } from 'node:os'
import { join } from 'node:path'
import { removeControlCharacters } from '../../codec/control-characters.ts'
import { PUBLIC_CLIENT } from '../../wallet/client-attestation.ts'
import type { WalletContext } from '../../wallet/context.ts'
import { refuseWith, WalletError } from '../../wallet/error.ts'
import type { TxCodeDescription } from '../../wallet/offer.ts'
import { decline, sendPresentation } from '../../wallet/present.ts'
import { receiveOffer, receiveWalletInitiated, type WalletInitiatedRequest } from '../../wallet/receive.ts'
import { collectPendingCredentials, listOutstandingCredentials, renewCredential } from '../../wallet/renewal.ts'
import { listCredentials, requireCredential } from '../../wallet/stored-credential.ts'
import { now, random, sleep } from '../effects.ts'
import { commandName, readSubcommand, type Subcommand, shellWord, UsageError } from '../terminal/command-line.ts'
import { reportFailure } from '../terminal/failure.ts'
import { browserCommand, openBrowser } from '../terminal/open-browser.ts'
import { paint, timeText } from '../terminal/terminal.ts'
import { startBrowserVisit } from './browser-visit.ts'
import { readAttestationFile, readAttestationText, walletFiles, writeAttestationFile } from './files.ts'
import { planRequest } from './plan-request.ts'
import { type AskConsent, askTxCodeAtTerminal, createConsentQuestion } from './questions.ts'
import { attestForTests, keyAttesterOf } from './test-attestation.ts'
import {
  describeDamage,
  describeOutstanding,
  formatCard,
  formatDetails,
  formatList,
  planText,
  verifierName,
} from './text.ts'
import { credentialToJson, outstandingToJson, planToJson } from './to-json.ts'
import { readPageOrigin, readUnofferedRequest } from './words.ts'

interface WalletCommand {
  /** The directory of the wallet. */
  readonly home: string
  readonly wallet: WalletContext
  /** The word after the name of the command. */
  readonly subject: string
  /** The credential to request without an offer. */
  readonly unofferedRequest: WalletInitiatedRequest | undefined
  /** Formats a command line of this wallet for copying. */
  readonly formatCommandLine: (...words: readonly string[]) => string
  /** Shows a text at once; not with --json. */
  readonly show: (text: string) => void
  readonly askConsent: AskConsent
  /** The origin of the page that asks through the browser; undefined for a link. */
  readonly origin: string | undefined
  /** The types of transactions to approve without a question; undefined where a person is asked. */
  readonly approvedTypes: readonly string[] | undefined
  /** Asks for the transaction code of an offer. Refuses with `needs_tx_code` without a terminal. */
  readonly askTxCode: (description: TxCodeDescription) => Promise<string>
}

/** The time limit for the person: an issuer allows ten minutes for the page and five for the return. */
const PERSON_SECONDS = 900

/** The JSON result. `hasFailed` means that the command was completed with a negative result. */
type Outcome = { readonly json: Readonly<Record<string, unknown>>; readonly hasFailed?: boolean }

/** The commands, each with its argument and its function. */
const commands: Readonly<
  Record<Subcommand<'wallet'>, { readonly takes?: string; run(command: WalletCommand): Promise<Outcome> }>
> = {
  receive: { takes: 'OFFER-URI', run: runReceive },
  collect: { run: runCollect },
  list: { run: runList },
  show: { takes: 'ID', run: runShow },
  renew: { takes: 'ID', run: runRenew },
  present: { takes: 'REQUEST-URI', run: runPresent },
  decline: { takes: 'REQUEST-URI', run: runDecline },
  attest: { takes: 'DIR', run: runAttest },
}

/** Runs `vouchsafe wallet`. The exit status is 1 if the wallet refuses, and 2 if the command line is wrong. */
export async function runWallet(args: string[]): Promise<void> {
  const json = args.includes('--json')
  try {
    const { json: outcome, hasFailed } = await runSubcommand(args, json)
    if (json) printLine(JSON.stringify(outcome))
    if (hasFailed) process.exitCode = 1
  } catch (error) {
    reportWalletFailure(error, json)
  }
}

async function runSubcommand(args: string[], json: boolean): Promise<Outcome> {
  const { subcommand: word, rest, values } = readSubcommand('wallet', args)
  const [subject, ...more] = rest
  const show = json ? () => undefined : printLine
  const command = commands[word]
  const unofferedRequest = readUnofferedRequest(values)
  const takesWord = command.takes !== undefined && unofferedRequest === undefined
  if ((subject !== undefined) !== takesWord || more.length > 0) {
    const takes = (takesWord && command.takes) || 'nothing after it'
    throw new UsageError('wallet', `wallet ${word}${unofferedRequest === undefined ? '' : ' --issuer'} takes ${takes}`)
  }
  const home = values.home ?? (process.env.VOUCHSAFE_WALLET_HOME || join(homedir(), '.vouchsafe', 'wallet'))
  const askTxCode =
    values['tx-code'] === undefined ? askTxCodeAtTerminal : () => Promise.resolve(values['tx-code'] ?? '')
  return command.run({
    home,
    wallet: await openWallet(home, values['client-id'], showAddress(values['no-browser'])),
    subject: subject?.trim() ?? '',
    unofferedRequest,
    formatCommandLine: createCommandLineFormat(values.home),
    show,
    askConsent: createConsentQuestion(values.yes === true, show),
    origin: readPageOrigin(values.origin),
    approvedTypes: values.yes === true ? values.approve : undefined,
    askTxCode,
  })
}

/** Opens the wallet in the directory `home`; `show` shows a URL to the person. */
async function openWallet(
  home: string,
  clientId: string | undefined,
  show: (address: string) => Promise<void>,
): Promise<WalletContext> {
  const attestation = await readAttestationFile(home)
  return {
    fetch: globalThis.fetch,
    now,
    random,
    store: walletFiles(home),
    openBrowser: () => startBrowserVisit({ show, seconds: PERSON_SECONDS }),
    ...(clientId !== undefined && { clientId }),
    ...(attestation && { attestation }),
    ...(attestation?.provider && { attestKeys: keyAttesterOf(attestation.provider) }),
  }
}

/** Opens the URL in a browser, or shows it on stderr, since stdout may have JSON. */
function showAddress(noBrowser: boolean): (address: string) => Promise<void> {
  return async (address) => {
    const command = noBrowser ? undefined : browserCommand(process)
    const isOpen = command !== undefined && (await openBrowser(command, address))
    const what = isOpen ? 'The page of the issuer is open in your browser:' : 'Open this page in a browser here:'
    process.stderr.write(`${what}\n${removeControlCharacters(address)}\n`)
  }
}

function createCommandLineFormat(home: string | undefined): WalletCommand['formatCommandLine'] {
  const homeOption = home === undefined ? [] : ['--home', home]
  return (...words) => `${commandName()} wallet ${[...words, ...homeOption].map(shellWord).join(' ')}`
}

async function runReceive({
  wallet,
  subject,
  unofferedRequest,
  formatCommandLine,
  show,
  askTxCode,
}: WalletCommand): Promise<Outcome> {
  const waiting = { ...wallet, wait: createWaitWithNotice(show) }
  const credentials = await (unofferedRequest === undefined
    ? receiveOffer(waiting, subject, { askTxCode })
    : receiveWalletInitiated(waiting, unofferedRequest))
  show(credentials.map(formatCard).join('\n\n'))
  show(
    `\n${paint('green', '✓')} Received and kept. Show it with: ${formatCommandLine('show', credentials[0]?.id ?? '')}`,
  )
  return { json: { credentials: credentials.map(credentialToJson) } }
}

/** Creates a `wait` that tells once why the command waits. */
function createWaitWithNotice(say: WalletCommand['show']): (seconds: number) => Promise<void> {
  let isTold = false
  return (seconds) => {
    if (!isTold) say('The issuer has to decide first; the wallet asks again for up to a minute.')
    isTold = true
    return sleep(seconds * 1000)
  }
}

async function runCollect({ wallet, show }: WalletCommand): Promise<Outcome> {
  const { received, outstanding } = await collectPendingCredentials(wallet)
  if (received.length > 0) show(`${received.map(formatCard).join('\n\n')}\n`)
  for (const each of outstanding) show(describeOutstanding(each))
  if (received.length + outstanding.length === 0) show('No issuer has anything to decide for this wallet.')
  const hasFailed = outstanding.some(({ problem }) => problem !== undefined)
  return {
    json: { credentials: received.map(credentialToJson), outstanding: outstanding.map(outstandingToJson) },
    hasFailed,
  }
}

async function runRenew({ wallet, subject, show }: WalletCommand): Promise<Outcome> {
  const credential = await renewCredential({ ...wallet, wait: createWaitWithNotice(show) }, subject)
  show(`${formatCard(credential)}\n\n${paint('green', '✓')} Renewed: new keys, and the old ones are gone.`)
  return { json: { credentials: [credentialToJson(credential)] } }
}

async function runList({ wallet, formatCommandLine, show }: WalletCommand): Promise<Outcome> {
  const { credentials, unreadable } = await listCredentials(wallet.store)
  const outstanding = await listOutstandingCredentials(wallet)
  if (credentials.length > 0) show(formatList(credentials, wallet.now()))
  else if (unreadable.length === 0)
    show(`The wallet is empty. Get a credential with: ${formatCommandLine('receive', 'OFFER-URI')}`)
  for (const each of unreadable) show(describeDamage(each))
  for (const each of outstanding) show(`${describeOutstanding(each)} Ask with: ${formatCommandLine('collect')}`)
  const json = {
    credentials: credentials.map(credentialToJson),
    unreadable,
    outstanding: outstanding.map(outstandingToJson),
  }
  return { json, hasFailed: unreadable.length > 0 }
}

async function runShow({ wallet, subject, formatCommandLine, show }: WalletCommand): Promise<Outcome> {
  const credential = await requireCredential(wallet.store, subject).catch((error: unknown) => {
    const isMissing = error instanceof WalletError && error.code === 'not_found'
    throw isMissing
      ? new WalletError('not_found', `${error.message}; see: ${formatCommandLine('list')}`, { cause: error })
      : error
  })
  show(formatDetails(credential))
  return { json: { ...credentialToJson(credential), hidable: credential.disclosable } }
}

async function runPresent({
  wallet,
  subject,
  origin,
  formatCommandLine,
  show,
  askConsent,
  approvedTypes,
}: WalletCommand): Promise<Outcome> {
  const plan = await planRequest(wallet, subject, origin)
  const originOption = origin === undefined ? [] : ['--origin', origin]
  const declining = `To tell the verifier: ${formatCommandLine('decline', subject, ...originOption)}`
  if (plan.problem !== undefined) {
    show(planText(plan))
    refuseWith('cannot_answer', `the request cannot be answered, and nothing was sent: ${plan.problem}. ${declining}`)
  }
  const unseenTransaction = plan.approvals.find(({ type }) => approvedTypes?.includes(type) === false)
  if (unseenTransaction !== undefined) refuseUnseen(planText(plan), unseenTransaction.type, show)
  const unknownTypes = plan.approvals.map(({ type }) => type)
  if (!(await askConsent(planText(plan), unknownTypes))) refuseWith('not_agreed', `Nothing was sent. ${declining}`)
  const { redirect_uri: redirectUri } = await sendPresentation(wallet, plan)
  show(`\n${paint('green', '✓')} Presented, and ${verifierName(plan)} accepted it.`)
  if (redirectUri !== undefined) show(`Go on at ${removeControlCharacters(redirectUri)}`)
  const goOn = redirectUri === undefined ? {} : { redirect_uri: redirectUri }
  return { json: { result: 'accepted', ...planToJson(plan), ...goOn } }
}

/** Refuses with `not_agreed` a transaction that nobody saw or named beforehand. OpenID4VP 1.0, Transaction Data. */
function refuseUnseen(text: string, type: string, show: WalletCommand['show']): never {
  show(text)
  const option = `--approve ${shellWord(type)}`
  return refuseWith('not_agreed', `Nothing was sent: --yes alone approves no transaction; add ${option} to approve it`)
}

async function runDecline({ wallet, subject, origin, show }: WalletCommand): Promise<Outcome> {
  const plan = await planRequest(wallet, subject, origin)
  await decline(wallet, plan)
  show(`Declined. ${verifierName(plan)} has been told that you do not agree, and nothing else.`)
  return { json: { result: 'declined', verifier: planToJson(plan).verifier } }
}

async function runAttest({ home, subject, show }: WalletCommand): Promise<Outcome> {
  const { text, until } = await attestForTests(subject, await readAttestationText(home))
  await writeAttestationFile(home, text)
  const facts = { client_id: PUBLIC_CLIENT, valid_until: until }
  show(`${paint('green', '✓')} Attested as ${PUBLIC_CLIENT} until ${timeText(until)}, by a provider for tests.`)
  return { json: facts }
}

function reportWalletFailure(error: unknown, json: boolean): void {
  const [code, server] = error instanceof WalletError ? [error.code, error.server] : []
  const facts = { ...(code === undefined ? {} : { error: code }), ...(server === undefined ? {} : { server }) }
  reportFailure(error, { json, status: 1, mark: `${paint('red', '✗', process.stderr)} `, facts })
}

function printLine(text: string): void {
  process.stdout.write(`${text}\n`)
}
