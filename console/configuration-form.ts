/** A form for a new credential configuration: fields for the look of the card, all of it as JSON, and the card. */
import type { IssuerSchemas } from '../sdk/server/index.ts'
import { drawCard } from './card.ts'
import { type Display, issuerClient, type OfferedConfiguration } from './clients.ts'
import { element, field, oneAtATime } from './dom.ts'
import { createJsonEditor } from './json-editor.ts'
import { configurationName } from './labels.ts'

type Configuration = IssuerSchemas['CredentialConfiguration']

const EXAMPLE: Configuration = {
  format: 'dc+sd-jwt',
  vct: 'https://university.example/student-card',
  credential_metadata: {
    display: [{ name: 'Student card', background_color: '#1d3f72', text_color: '#ffffff' }],
    claims: [
      { path: ['given_name'], mandatory: true, display: [{ name: 'Given name' }] },
      { path: ['family_name'], display: [{ name: 'Family name' }] },
      { path: ['student_number'], display: [{ name: 'Student number' }] },
    ],
  },
}

/** A part of the look of a card that a field changes: from the display, and into it; empty takes it away. */
interface LookField {
  readonly label: string
  readonly type: 'text' | 'color' | 'url'
  readonly readValue: (display: Display) => string | undefined
  readonly writeValue: (value: string) => Display
}

const LOOKS: readonly LookField[] = [
  { label: 'Name', type: 'text', readValue: ({ name }) => name, writeValue: (name) => ({ name }) },
  {
    label: 'Description',
    type: 'text',
    readValue: ({ description }) => description,
    writeValue: (description) => ({ description }),
  },
  {
    label: 'Background colour',
    type: 'color',
    readValue: (display) => display.background_color,
    writeValue: (value) => ({ background_color: value }),
  },
  {
    label: 'Text colour',
    type: 'color',
    readValue: (display) => display.text_color,
    writeValue: (value) => ({ text_color: value }),
  },
  {
    label: 'Logo (address)',
    type: 'url',
    readValue: ({ logo }) => logo?.uri,
    writeValue: (uri) => ({ logo: { uri } }),
  },
  {
    label: 'Background image (address)',
    type: 'url',
    readValue: (display) => display.background_image?.uri,
    writeValue: (uri) => ({ background_image: { uri } }),
  },
]

/** Draws the form; `onStored` is called when the issuer has taken the configuration. */
export function drawConfigurationForm(onStored: () => Promise<void>): HTMLElement {
  const preview = element('div')
  const looks = LOOKS.map((look) => ({ ...look, input: element('input', { type: look.type }) }))
  const redraw = (): void => {
    const configuration = editor.read() as OfferedConfiguration | undefined
    if (configuration === undefined) return
    const display = configuration.credential_metadata?.display?.[0]
    // The form changes the first display, which need not be the one of the browser's language.
    preview.replaceChildren(drawCard(display?.name ?? configurationName('', configuration), display))
    for (const { input, readValue } of looks) {
      if (document.activeElement !== input) input.value = readValue(display ?? {}) ?? ''
    }
  }
  const editor = createJsonEditor('Configuration', redraw)
  for (const { input, writeValue } of looks) {
    input.addEventListener('input', () => {
      const configuration = editor.read() as Configuration | undefined
      if (configuration === undefined) return
      editor.write(changeLook(configuration, writeValue(input.value), input.value === ''))
      redraw()
    })
  }
  const store = oneAtATime(async () => {
    const configuration = editor.read()
    if (configuration === undefined) return
    await issuerClient
      .createConfiguration(configuration as Configuration)
      .then(onStored)
      .catch((error: unknown) => editor.showError(error))
  })
  editor.write(EXAMPLE)
  redraw()
  return element(
    'div',
    { class: 'columns' },
    element('div', {}, preview, ...looks.map(({ label, input }) => field(label, input))),
    element('div', {}, editor.drawn, element('button', { type: 'button', onclick: store }, 'Store')),
  )
}

/** Returns the configuration with the look in its first display, or without that part of it. */
function changeLook(configuration: Configuration, look: Display, isEmpty: boolean): Configuration {
  const { credential_metadata: metadata } = configuration
  const [first = { name: '' }, ...others] = metadata?.display ?? []
  const keptMembers = Object.entries(first).filter(([name]) => !(isEmpty && name in look && name !== 'name'))
  const display = { ...Object.fromEntries(keptMembers), ...(isEmpty ? {} : look) } as typeof first
  return { ...configuration, credential_metadata: { ...metadata, display: [display, ...others] } }
}
