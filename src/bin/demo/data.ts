/** The data of the demo: a student card, and a query for two of its six claims. */

/** The type of the card. */
export const CARD_TYPE = 'urn:example.edu:student-card'

const CLAIMS = {
  given_name: ['Given name', 'Ada'],
  family_name: ['Family name', 'Lovelace'],
  birth_date: ['Date of birth', '1815-12-10'],
  student_number: ['Student number', '1843-0007'],
  programme: ['Programme', 'Mathematics'],
  enrolled_until: ['Enrolled until', '2030-09-30'],
} as const

const REQUESTED_CLAIMS = ['given_name', 'programme'] as const
type RequestedClaims = Readonly<Record<(typeof REQUESTED_CLAIMS)[number], string>>

export const configuration = {
  // The format that most wallets take.
  format: 'dc+sd-jwt',
  vct: CARD_TYPE,
  // Wallets can request a configuration with a scope without an offer.
  scope: 'student_card',
  credential_metadata: {
    display: [{ name: 'Student card', locale: 'en-GB', background_color: '#1f3a5f', text_color: '#ffffff' }],
    claims: Object.entries(CLAIMS).map(([name, [label]]) => ({
      path: [name],
      display: [{ name: label, locale: 'en-GB' }],
    })),
  },
}

export const dataset = Object.fromEntries(Object.entries(CLAIMS).map(([name, [, value]]) => [name, value]))

/** The data of another student, for continuing by hand, with the claims of the query. */
export const newDataset = { given_name: 'Grace', programme: 'Physics' } satisfies RequestedClaims

export const dcqlQuery = {
  credentials: [
    {
      id: 'card',
      format: configuration.format,
      meta: { vct_values: [CARD_TYPE] },
      claims: REQUESTED_CLAIMS.map((name) => ({ path: [name] })),
    },
  ],
}

export const CLAIM_COUNT = Object.keys(CLAIMS).length
export const REQUESTED_CLAIM_NAMES = REQUESTED_CLAIMS.join(', ')
