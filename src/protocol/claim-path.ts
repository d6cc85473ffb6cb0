/**
 * The claims path pointer: what a path points to in a credential, and how paths compare. Sentences name paths, never the
 * value of a claim. OpenID4VP 1.0, Claims Path Pointer, Semantics for JSON-based credentials; OpenID4VCI 1.0 has the same.
 */
import { isObject, type Json, own } from '../codec/json.ts'
import type { Place } from '../codec/sd-jwt.ts'

/** A member by its name, an array's element by its index, or null for all of its elements. */
type ClaimStep = string | number | null

/** One step per element. A path without null is a {@link Place}. */
export type ClaimPath = readonly ClaimStep[]

export interface Selected {
  readonly path: Place
  readonly value: Json
}

export type Selection = { readonly selected: readonly Selected[] } | { readonly problem: string }

export function isClaimPath(value: unknown): value is ClaimPath {
  return Array.isArray(value) && value.every((step) => typeof step === 'string' || step === null || isIndex(step))
}

export function isIndex(step: unknown): step is number {
  return Number.isInteger(step) && (step as number) >= 0
}

/** What `path` points to in `claims`. */
export function selectClaims(claims: Json, path: ClaimPath): Selection {
  if (path.length === 0) return { problem: 'an empty path points to no claim' }
  let selected: readonly Selected[] = [{ path: [], value: claims }]
  for (const [i, step] of path.entries()) {
    const problem = selected.map(({ value }) => problemOf(value, step)).find((each) => each !== undefined)
    if (problem !== undefined) return { problem: `${pathText(path)}: ${pathText(path.slice(0, i))} ${problem}` }
    selected = selected.flatMap((each) => follow(each, step))
    if (selected.length === 0) return { problem: `${pathText(path)}: there is no ${pathText(path.slice(0, i + 1))}` }
  }
  return { selected }
}

/** A path as people write it: `degrees[*].type`. */
export function pathText(path: ClaimPath): string {
  const steps = path.map((step) => {
    if (step === null) return '[*]'
    if (typeof step === 'number') return `[${step}]`
    return /^[\p{L}\p{N}_@$-]+$/u.test(step) ? `.${step}` : `[${JSON.stringify(step)}]`
  })
  return path.length === 0 ? 'the credential' : steps.join('').replace(/^\./, '')
}

/** Whether `inner` is `outer` or lies below it. */
export function isWithin(inner: Place, outer: Place): boolean {
  return outer.length <= inner.length && outer.every((step, at) => step === inner[at])
}

/** Whether the step of a path is the one that was taken there; undefined when none was. */
export function fits(step: ClaimStep, taken: string | number | undefined): boolean {
  return step === null ? typeof taken === 'number' : step === taken
}

/** Why the step cannot be taken from `value`, whatever is in it. */
function problemOf(value: Json, step: ClaimStep): string | undefined {
  if (typeof step === 'string') return isObject(value) ? undefined : 'is not an object'
  if (step !== null && !isIndex(step)) return 'is followed by what is neither name nor index'
  return Array.isArray(value) ? undefined : 'is not an array'
}

/** What the step leads to; nothing where there is no such member or element. */
function follow({ path, value }: Selected, step: ClaimStep): readonly Selected[] {
  if (Array.isArray(value)) {
    const wanted = step === null ? value.keys() : [Number(step)]
    return [...wanted].flatMap((i) => nextOf(path, i, value[i]))
  }
  return isObject(value) && typeof step === 'string' ? nextOf(path, step, own(value, step)) : []
}

function nextOf(path: Place, step: string | number, value: Json | undefined): readonly Selected[] {
  return value === undefined ? [] : [{ path: [...path, step], value }]
}
