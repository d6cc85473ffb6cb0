import type { FunctionType } from './module.ts'

const type = (parameters: string, results: string): FunctionType => ({ parameters, results })

/** Every function that a module may import, by module and name. */
export const importTable: Readonly<Record<string, Readonly<Record<string, FunctionType>>>> = {
  offchain: { call: type('iii', 'I'), result: type('ii', ''), exit: type('ii', '') },
  pbc: {
    memmove: type('iii', 'i'),
    exit: type('ii', ''),
    avl_new: type('', 'i'),
    avl_get: type('iiii', 'i'),
    avl_get_size: type('iii', 'i'),
    avl_insert: type('iiiii', ''),
    avl_remove: type('iii', ''),
    avl_len: type('i', 'i'),
    avl_get_next: type('iiii', ''),
    avl_get_next_size: type('iii', 'i'),
  },
}
