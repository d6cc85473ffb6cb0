import type { BuildOptions } from 'esbuild'

export declare const root: string
export declare const commandOptions: BuildOptions
export declare const WITH_REQUIRE: BuildOptions
