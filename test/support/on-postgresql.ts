/** Runs before each file of the project `postgresql`, whose stores are in that server. */
import { inject } from 'vitest'

process.env.VOUCHSAFE_TEST_STORE = inject('postgres')
