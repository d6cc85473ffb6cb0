import { describe } from 'vitest'
import { freshUrl, postgresOf } from '../../test/support/store.ts'
import { openPostgres } from './postgres.ts'
import { storeContract } from './store.contract.ts'

describe('PostgreSQL', () => {
  storeContract(freshUrl, (url, migrations) => openPostgres(postgresOf(url), migrations))
})
