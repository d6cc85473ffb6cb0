/** The snippets in docs/server-library.md and what stands around them are TypeScript that a strict compiler takes. */
import { join } from 'node:path'
import ts from 'typescript'
import { expect, it } from 'vitest'
import { ROOT, snippetsOf, snippetWith } from './support/documents.ts'

const PAGE = 'docs/server-library.md'

/** The files of an application that the page has as parts of snippets alone, by what they do. */
const applications = {
  'a session by its response code': `
import { createVerifierClient } from 'vouchsafe/server'
const verifier = createVerifierClient({ url: process.env.VERIFIER_URL, apiKey: process.env.VERIFIER_API_KEY })
const { searchParams } = new URL('https://app.example/done?response_code=…')
const responseCode = searchParams.get('response_code')
console.log((await verifier.getSession('…', { responseCode })).result)
console.log((await verifier.waitForSession('…', { responseCode })).result)
for await (const { result } of verifier.watchSession('…', { responseCode })) console.log(result)`,
  'a session through the browser, with a link and without': `
import { createVerifierClient } from 'vouchsafe/server'
const verifier = createVerifierClient({ url: process.env.VERIFIER_URL, apiKey: process.env.VERIFIER_API_KEY })
const session = { verification_query_id: '…', origin: 'https://shop.example' }
const both: string = (await verifier.startSession(session)).request_uri
const { request_uri: none, digital_credentials_uri: page } = await verifier.startSession({ ...session, link: false })
const uris: readonly [string, string | undefined, string | undefined] = [both, none, page]
console.log(uris)`,
  'each event by its type': `
import { callbackHandler, readCallback, type CallbackEvent } from 'vouchsafe/server'
function statusOf(event: CallbackEvent): 'SUCCEEDED' | 'REVOKED' | 'VERIFICATION_SUCCEEDED' | undefined {
  switch (event.type) {
    case 'issuance.succeeded':
      return event.data.status === 'SUCCEEDED' ? event.data.status : undefined
    case 'credential.revoked':
      return event.data.status === undefined ? 'REVOKED' : undefined
    case 'verification.succeeded':
      return event.data.status === 'VERIFICATION_SUCCEEDED' && event.data.result?.verified ? event.data.status : undefined
    default:
      return undefined
  }
}
const keys = { secret: [process.env.NEW_SECRET, process.env.OLD_SECRET], apiKey: process.env.CALLBACK_API_KEY }
export const handle = callbackHandler(keys, (event) => console.log(statusOf(event)))
export const read = await readCallback({ headers: new Headers(), body: '' }, keys)`,
}

it('has no mistake for the compiler, the most exact about members that are absent too', () => {
  const [asking = ''] = snippetWith(PAGE, 'createVerifierClient').split('const { status, result }')
  const snippets = snippetsOf(PAGE).filter(({ language }) => language === 'js')
  const files = [...snippets.map(({ code }) => code), ...Object.values(applications)].map((code, index) => {
    const text = code.includes('import ') ? code : asking + code
    return [join(ROOT, 'test', `application-${index}.ts`), text] as const
  })
  expect(files).toHaveLength(7)
  expect(mistakesOf(new Map(files))).toEqual([])
})

/** Returns what the compiler says of the files, which stand in no folder, as those of an application. */
function mistakesOf(files: ReadonlyMap<string, string>): string[] {
  const options: ts.CompilerOptions = {
    strict: true,
    exactOptionalPropertyTypes: true,
    noEmit: true,
    skipLibCheck: true,
    target: ts.ScriptTarget.ES2023,
    lib: ['lib.es2023.d.ts', 'lib.es2024.string.d.ts'],
    types: ['node'],
    module: ts.ModuleKind.NodeNext,
    moduleResolution: ts.ModuleResolutionKind.NodeNext,
    allowImportingTsExtensions: true,
    paths: { 'vouchsafe/server': [join(ROOT, 'sdk/server/index.ts')] },
  }
  const host = ts.createCompilerHost(options)
  const fromDisk = { ...host }
  host.fileExists = (path) => files.has(path) || fromDisk.fileExists(path)
  host.readFile = (path) => files.get(path) ?? fromDisk.readFile(path)
  host.getSourceFile = (path, version) => {
    const text = files.get(path)
    return text === undefined ? fromDisk.getSourceFile(path, version) : ts.createSourceFile(path, text, version)
  }
  const program = ts.createProgram([...files.keys()], options, host)
  return ts.getPreEmitDiagnostics(program).map(({ file, messageText }) => {
    return `${file?.fileName ?? ''}: ${ts.flattenDiagnosticMessageText(messageText, '\n')}`
  })
}
