/** Lists the settings in the schema that a new `server.json` does not have. */
import { parseJson } from '../../codec/json.ts'
import type { checkSettings } from '../../config/common.ts'
import { CONFIG_FILE } from '../command-table/command.ts'
import { wrap } from '../terminal.ts'
import type { NewFiles } from './files.ts'

/** The maximum width of the output of `init`. */
const WIDTH = 78

/** Lists the settings that the new files lack, each with its hint if there is one. */
export function otherSettings(
  schema: Parameters<typeof checkSettings>[0],
  { files }: Pick<NewFiles, 'files'>,
  hints: Readonly<Record<string, string>>,
): string {
  const writtenSettings = parseJson(files.find(({ path }) => path === CONFIG_FILE)?.text ?? '{}') as object
  const others = Object.keys(schema.properties).filter((name) => !Object.hasOwn(writtenSettings, name))
  const entries = others.map((name) => (hints[name] === undefined ? name : `${name} (${hints[name]})`))
  return wrap(`Not there, and good without: ${entries.join(', ')}. docs/reference.md has them all.`, WIDTH).join('\n')
}
