export declare const TESTED_WITH: readonly string[]
export declare function lacking(folders: readonly string[]): string[]
export declare function adviceOn(output: string): string
export declare function install(folders: readonly string[]): Promise<void>
