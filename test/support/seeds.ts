/**
 * The multiple of random inputs that tests try: 1 in `npm test`, 4 in `npm run test:others`, and what
 * VOUCHSAFE_TEST_SEEDS says where it is set.
 */
export const TIMES = Number(process.env.VOUCHSAFE_TEST_SEEDS ?? 1)

/** The numbers from 0 up to `count`, or up to the multiple of `count` that is set. */
export const seeds = (count: number): number[] => Array.from({ length: count * TIMES }, (_, seed) => seed)
