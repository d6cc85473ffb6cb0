/** The number of keys or sharings that a test of costs makes: 10,000 by `npm run test:others`. */
export const MANY = Number(process.env.VOUCHSAFE_TEST_MANY ?? 1000)
