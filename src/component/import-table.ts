import type { FunctionType } from './module.ts'

const functionType = (parameters: string, results: string): FunctionType => ({ parameters, results })

/** Every function that a module may import, by module and name. */
export const importTable: Readonly<Record<string, Readonly<Record<string, FunctionType>>>> = {
  offchain: { call: functionType('iii', 'I'), result: functionType('ii', ''), exit: functionType('ii', '') },
  pbc: {
    memmove: functionType('iii', 'i'),
    exit: functionType('ii', ''),
    avl_new: functionType('', 'i'),
    avl_get: functionType('iiii', 'i'),
    avl_get_size: functionType('iii', 'i'),
    avl_insert: functionType('iiiii', ''),
    avl_remove: functionType('iii', ''),
    avl_len: functionType('i', 'i'),
    avl_get_next: functionType('iiii', ''),
    avl_get_next_size: functionType('iii', 'i'),
  },
}
