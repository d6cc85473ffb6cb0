/** Lists the settings that a new `server.json` does not have, and the variables that go before it. */
import { parseJson } from '../../codec/json.ts'
import type { checkSettings } from '../../config/common.ts'
import { listVariables } from '../../config/environment.ts'
import { CONFIG_FILE } from '../command-table/command.ts'
import { documentPath } from '../terminal/document-path.ts'
import { wrap } from '../terminal/terminal.ts'
import type { NewFiles } from './files.ts'

/** The maximum width of the output of `init`. */
const WIDTH = 78

/** Lists the settings that the new files lack, each with its hint, and the variables of this process. */
export function otherSettings(
  schema: Parameters<typeof checkSettings>[0],
  { files }: Pick<NewFiles, 'files'>,
  hints: Readonly<Record<string, string>>,
): string {
  const writtenSettings = parseJson(files.find(({ path }) => path === CONFIG_FILE)?.text ?? '{}') as object
  const others = Object.keys(schema.properties).filter((name) => !Object.hasOwn(writtenSettings, name))
  const entries = others.map((name) => (hints[name] === undefined ? name : `${name} (${hints[name]})`))
  const variables = listVariables(schema, process.env)
  return [
    `Left at their defaults: ${entries.join(', ')}. What each means: ${documentPath('docs/reference.md')}`,
    ...(variables.length === 0
      ? []
      : [`Set by environment variables, which override server.json: ${variables.join(', ')}.`]),
  ]
    .map((text) => wrap(text, WIDTH).join('\n'))
    .join('\n\n')
}
