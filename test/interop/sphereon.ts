import type { Row } from './rows.ts'
export const sphereonRows: readonly Row[] = []
