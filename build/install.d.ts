export declare const TESTED_WITH: readonly string[]
export declare function lacking(folders: readonly string[]): string[]
export declare function adviceOn(told: string): string
export declare function install(folders: readonly string[]): void
