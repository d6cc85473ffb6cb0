/** The tolerance for the clocks of issuers and verifiers. */
export const CLOCK_SKEW_SECONDS = 60
