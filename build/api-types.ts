/** Writes the schemas of an OpenAPI document as TypeScript, for the client library. */

interface Schema {
  readonly $ref?: string
  readonly type?: string
  readonly enum?: readonly unknown[]
  readonly anyOf?: readonly Schema[]
  readonly items?: Schema
  readonly properties?: Readonly<Record<string, Schema>>
  readonly required?: readonly string[]
  readonly additionalProperties?: boolean | Schema
  readonly description?: string
}

interface Operation {
  readonly tags?: readonly string[]
}

export interface ApiDocument {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
  readonly components: { readonly schemas: Readonly<Record<string, Schema>> }
}

const PRIMITIVES: Readonly<Record<string, string>> = {
  string: 'string',
  integer: 'number',
  number: 'number',
  boolean: 'boolean',
  null: 'null',
}

/** Writes the interface `name`, whose members are the schemas that the operations of an integrating application use. */
export function writeApiTypes(name: string, service: string, { paths, components }: ApiDocument): string {
  const operations = Object.values(paths).flatMap((methods) => Object.values(methods))
  const names = new Set<string>()
  collectNames(
    operations.filter(({ tags }) => tags?.includes('integration')),
    components.schemas,
    names,
  )
  const members = [...names]
    .filter((each) => each !== 'Error')
    .sort()
    .map((each) => member(name, each, components.schemas[each] ?? {}, true, '  '))
  return `/** The schemas of ${service}. Generated from its OpenAPI document by \`npm run docs\`; do not edit. */
export interface ${name} {
${members.join('\n')}
}
`
}

/** Adds the names of the schemas that `value` refers to, also through others. */
function collectNames(value: unknown, schemas: Readonly<Record<string, Schema>>, names: Set<string>): void {
  if (typeof value !== 'object' || value === null) return
  for (const [key, inside] of Object.entries(value)) {
    const name = key === '$ref' && typeof inside === 'string' ? inside.replace('#/components/schemas/', '') : undefined
    if (name === undefined) collectNames(inside, schemas, names)
    else if (!names.has(name)) {
      names.add(name)
      collectNames(schemas[name], schemas, names)
    }
  }
}

function member(self: string, name: string, schema: Schema, isRequired: boolean, indent: string): string {
  const key = /^[a-z_$][\w$]*$/i.test(name) ? name : `'${name}'`
  return `${comment(schema.description, indent)}${indent}${key}${isRequired ? '' : '?'}: ${typeOf(self, schema, indent)}`
}

const COLUMNS = 120

function comment(description: string | undefined, indent: string): string {
  if (description === undefined) return ''
  const text = `${description}.`
  if (`${indent}/** ${text} */`.length <= COLUMNS) return `${indent}/** ${text} */\n`
  const start = `${indent} * `
  const lines = ['']
  for (const word of text.split(' ')) {
    const line = lines.at(-1) ?? ''
    if (start.length + line.length + 1 + word.length > COLUMNS) lines.push(word)
    else lines[lines.length - 1] = line === '' ? word : `${line} ${word}`
  }
  return `${indent}/**\n${lines.map((line) => `${start}${line}`).join('\n')}\n${indent} */\n`
}

function typeOf(self: string, schema: Schema, indent: string): string {
  if (schema.$ref !== undefined) return `${self}['${schema.$ref.replace('#/components/schemas/', '')}']`
  if (schema.anyOf !== undefined) return schema.anyOf.map((each) => typeOf(self, each, indent)).join(' | ')
  if (schema.enum !== undefined) return schema.enum.map((value) => literal(value)).join(' | ')
  if (schema.type === 'array') {
    const item = typeOf(self, schema.items ?? {}, indent)
    return item.includes(' | ') ? `(${item})[]` : `${item}[]`
  }
  if (schema.type === 'object') return objectType(self, schema, indent)
  return PRIMITIVES[schema.type ?? ''] ?? 'unknown'
}

function literal(value: unknown): string {
  return typeof value === 'string' ? `'${value}'` : String(value)
}

function objectType(
  self: string,
  { properties = {}, required: requiredNames = [], additionalProperties }: Schema,
  indent: string,
): string {
  const isOpen = additionalProperties !== undefined && additionalProperties !== false
  const rest = typeof additionalProperties === 'object' ? typeOf(self, additionalProperties, `${indent}  `) : 'unknown'
  const names = Object.keys(properties)
  if (names.length === 0) return isOpen ? `Record<string, ${rest}>` : 'Record<string, never>'
  const members = Object.entries(properties).map(([name, each]) =>
    member(self, name, each, requiredNames.includes(name), `${indent}  `),
  )
  const open = isOpen ? [`${indent}  [name: string]: unknown`] : []
  return `{\n${[...members, ...open].join('\n')}\n${indent}}`
}
