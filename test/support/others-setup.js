/** Installs the packages of other parties that tests compare with, also where vitest is started by itself. */
import { install, TESTED_WITH } from '../../build/install.js'

export const setup = () => install(TESTED_WITH)
