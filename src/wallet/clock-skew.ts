/** How far the clocks of issuers and verifiers may be from ours. */
export const CLOCK_SKEW_SECONDS = 60
