/** The data of the demo: a student card, and a query for two of its six claims. */

const TYPE = ['VerifiableCredential', 'StudentCard']

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
  format: 'jwt_vc_json-ld',
  // Wallets can request a configuration with a scope without an offer.
  scope: 'student_card',
  credential_definition: { '@context': ['https://www.w3.org/ns/credentials/v2'], type: TYPE },
  credential_metadata: {
    display: [{ name: 'Student card', locale: 'en-GB', background_color: '#1f3a5f', text_color: '#ffffff' }],
    claims: Object.entries(CLAIMS).map(([name, [label]]) => ({
      path: ['credentialSubject', name],
      display: [{ name: label, locale: 'en-GB' }],
    })),
  },
}

export const dataset = {
  credentialSubject: Object.fromEntries(Object.entries(CLAIMS).map(([name, [, value]]) => [name, value])),
}

/** The data of another student, for continuing by hand, with the claims of the query. */
export const newDataset = { credentialSubject: { given_name: 'Grace', programme: 'Physics' } satisfies RequestedClaims }

export const dcqlQuery = {
  credentials: [
    {
      id: 'card',
      format: configuration.format,
      meta: { type_values: [TYPE] },
      claims: REQUESTED_CLAIMS.map((name) => ({ path: ['credentialSubject', name] })),
    },
  ],
}

export const CLAIM_COUNT = Object.keys(CLAIMS).length
export const REQUESTED_CLAIM_NAMES = REQUESTED_CLAIMS.join(', ')
