export declare const TESTED_WITH: readonly string[]
export declare function lacking(folders: readonly string[], options?: { readonly production?: boolean }): string[]
export declare function adviceOn(told: string): string
