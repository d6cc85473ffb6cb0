/** A resumable upload: stored in a private file until each engine has its share. */
import { existsSync, unlinkSync } from 'node:fs'
import { prepareUpload, type Upload } from '../../../sdk/client/upload.ts'
import { isObject, memberOf, parseJson, stringMemberOf, stringsIn } from '../../codec/json.ts'
import { malformed } from '../../codec/malformed.ts'
import { shellWord } from '../terminal/command-line.ts'
import { readSecret, readText, writePrivate } from './files.ts'
import { DEFAULT_SCHEME, type SecretCommand } from './words.ts'

export interface PendingUpload {
  readonly upload: Upload
  /** Advice for an incomplete upload. */
  readonly hint: string
  readonly removeFile: () => void
  /** The file of `--resume` that had the upload already, so that no secret was read. */
  readonly continuedFrom?: string
}

const DEFAULT_THRESHOLD = 2

/**
 * Returns the upload in the file of `--resume`, or a new one, which is written to that file. Throws a message for the
 * user if the file is invalid.
 */
export async function openUpload({ options, client }: SecretCommand): Promise<PendingUpload> {
  const { resume, file, threshold = DEFAULT_THRESHOLD, id, scheme = DEFAULT_SCHEME } = options
  if (resume !== undefined && existsSync(resume)) return continueUpload(resume, options)
  const { engines } = await client.engines()
  const secret = await readSecret(file)
  const sharing = {
    secret,
    threshold: scheme === 'xor' ? engines.length : threshold,
    scheme,
    ...(id === undefined ? {} : { id }),
  }
  const upload = await prepareUpload({ client }, sharing)
  if (resume !== undefined) writePrivate(resume, Buffer.from(JSON.stringify(upload)))
  return createPendingUpload(upload, resume)
}

function continueUpload(file: string, { id, threshold, scheme }: SecretCommand['options']): PendingUpload {
  const upload = readUpload(file)
  const comparisons = [
    ['id', id?.toString(), upload.id],
    ['scheme', scheme, upload.scheme],
    // All engines are the threshold of `xor`, whatever the option says.
    ['threshold', upload.scheme === 'xor' ? undefined : threshold, upload.threshold],
  ] as const
  for (const [name, option, kept] of comparisons) {
    if (option !== undefined && option !== kept) {
      const difference = `${file} keeps an upload with the ${name} ${kept}, and --${name} says ${option}`
      throw new Error(`${difference}. Give another file to --resume for another secret.`)
    }
  }
  return { ...createPendingUpload(upload, file), continuedFrom: file }
}

function createPendingUpload(upload: Upload, file: string | undefined): PendingUpload {
  if (file === undefined) {
    const hint =
      'It cannot be gone on with: share the secret anew. With --resume FILE the next time can go on where this one ended.'
    return { upload, hint, removeFile: () => undefined }
  }
  const hint = `What is missing is in ${file}, which is as secret as the secret. Go on with the same command and --resume ${shellWord(file)}`
  return { upload, hint, removeFile: () => unlinkSync(file) }
}

function readUpload(file: string): Upload {
  try {
    const value = parseJson(readText(file))
    if (!isObject(value)) return malformed('it is not an object')
    const [chain, contract, id] = [
      stringMemberOf(value, 'chain'),
      stringMemberOf(value, 'contract'),
      stringMemberOf(value, 'id'),
    ]
    const [threshold, scheme] = [memberOf(value, 'threshold'), memberOf(value, 'scheme')]
    const [engines, shares] = [stringsIn(memberOf(value, 'engines')), stringsIn(memberOf(value, 'shares'))]
    if (chain === undefined || contract === undefined || id === undefined || typeof threshold !== 'number') {
      return malformed('a member is missing')
    }
    if (shares.length !== engines.length || shares.some((share) => !/^([0-9a-f]{2})+$/.test(share))) {
      return malformed('its shares are damaged')
    }
    if (scheme !== 'shamir' && scheme !== 'xor') return malformed('there is no such scheme')
    return { chain, contract, id, threshold, scheme, engines, shares }
  } catch (cause) {
    throw new Error(`${file} is not an upload that vouchsafe secret put kept.`, { cause })
  }
}
