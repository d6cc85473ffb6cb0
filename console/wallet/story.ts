/** The story of the page: a university's student ID, and a library that asks for two of its claims. */
import type { IssuerSchemas, StartedSessionWithLink } from '../../sdk/server/index.ts'
import { issuerClient, readConfigurations, verifierClient } from '../clients.ts'

const VCT = 'https://university.example/student-id'
const CLAIMS = {
  given_name: ['Given name', 'Ada'],
  family_name: ['Family name', 'Lovelace'],
  birth_date: ['Date of birth', '1815-12-10'],
  student_number: ['Student number', '1843-0007'],
  programme: ['Programme', 'Mathematics'],
  enrolled_until: ['Enrolled until', '2030-09-30'],
} as const
const REQUESTED_CLAIMS = ['given_name', 'programme'] as const
/** The verifier tolerates clocks that differ, so that the card is of no use only a minute later. */
const SHORT_LIFE_SECONDS = 5

const STUDENT_ID = { name: 'Student ID', background_color: '#1f3a5f', text_color: '#ffffff' }
const SHORT_STUDENT_ID = { name: 'Student ID for five seconds', background_color: '#6b3a12', text_color: '#ffffff' }

/** Lets the university offer a student ID with a transaction code, or one that expires at once. */
export async function offerStudentId(isShort: boolean): Promise<IssuerSchemas['StartedIssuanceSession']> {
  const values = Object.entries(CLAIMS).map(([name, [, value]]) => [name, value])
  return issuerClient.startSession({
    credential_configurations: [await ensureConfiguration(isShort)],
    credential_dataset: Object.fromEntries(values) as Record<string, unknown>,
    ...(isShort ? {} : { tx_code: { length: 4, input_mode: 'numeric' } }),
  })
}

/** Lets the library ask for two claims of the student ID. */
export async function askForStudentId(): Promise<StartedSessionWithLink> {
  const claims = REQUESTED_CLAIMS.map((name) => ({ path: [name] }))
  const credential = { id: 'student_id', format: 'dc+sd-jwt', meta: { vct_values: [VCT] }, claims }
  const id = await verifierClient.createQuery({ credentials: [credential] })
  return verifierClient.startSession({ verification_query_id: id })
}

/** Returns the id of the configuration of the story, which is stored when the issuer has none of its name. */
async function ensureConfiguration(isShort: boolean): Promise<string> {
  const display = isShort ? SHORT_STUDENT_ID : STUDENT_ID
  for (const [id, { vct, credential_metadata: metadata }] of await readConfigurations()) {
    if (vct === VCT && metadata?.display?.[0]?.name === display.name) return id
  }
  return issuerClient.createConfiguration({
    format: 'dc+sd-jwt',
    vct: VCT,
    ...(isShort && { validity_seconds: SHORT_LIFE_SECONDS }),
    credential_metadata: {
      display: [display],
      claims: Object.entries(CLAIMS).map(([name, [label]]) => ({ path: [name], display: [{ name: label }] })),
    },
  })
}
