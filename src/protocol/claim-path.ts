/**
 * The claims path pointer: what a path points to in a credential, and how paths compare. Sentences name paths, never the
 * value of a claim. OpenID4VP 1.0, Claims Path Pointer, Semantics for JSON-based credentials; OpenID4VCI 1.0 has the same.
 */
import { isObject, type Json, own } from '../codec/json.ts'
import type { ClaimPosition } from '../codec/sd-jwt.ts'

/** A member by its name, an array's element by its index, or null for all of its elements. */
type ClaimStep = string | number | null

/** One step per element. A path without null is a {@link ClaimPosition}. */
export type ClaimPath = readonly ClaimStep[]

export interface Selected {
  readonly path: ClaimPosition
  readonly value: Json
}

export type Selection = { readonly selected: readonly Selected[] } | { readonly problem: string }

/** Where a step led from; the way there is written out for what is selected in the end, and not for every element passed. */
interface Node {
  readonly value: Json
  readonly step?: string | number
  readonly from?: Node
}

export function isClaimPath(value: unknown): value is ClaimPath {
  return Array.isArray(value) && value.every((step) => typeof step === 'string' || step === null || isIndex(step))
}

export function isIndex(step: unknown): step is number {
  return Number.isInteger(step) && (step as number) >= 0
}

/** What `path` points to in `claims`. */
export function selectClaims(claims: Json, path: ClaimPath): Selection {
  if (path.length === 0) return { problem: 'an empty path points to no claim' }
  let selected: readonly Node[] = [{ value: claims }]
  for (const [i, step] of path.entries()) {
    const next: Node[] = []
    for (const node of selected) {
      const problem = problemOf(node.value, step)
      if (problem !== undefined) return { problem: `${pathText(path)}: ${pathText(path.slice(0, i))} ${problem}` }
      follow(node, step, next)
    }
    selected = next
    if (selected.length === 0) return { problem: `${pathText(path)}: there is no ${pathText(path.slice(0, i + 1))}` }
  }
  return { selected: selected.map((node) => ({ path: positionOf(node), value: node.value })) }
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
export function isWithin(inner: ClaimPosition, outer: ClaimPosition): boolean {
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

/** Puts what the step leads to into `next`; nothing where there is no such member or element. */
function follow(node: Node, step: ClaimStep, next: Node[]): void {
  const { value } = node
  if (Array.isArray(value)) {
    if (step !== null) take(node, Number(step), value[Number(step)], next)
    else for (let i = 0; i < value.length; i++) take(node, i, value[i], next)
  } else if (isObject(value) && typeof step === 'string') take(node, step, own(value, step), next)
}

function take(from: Node, step: string | number, value: Json | undefined, next: Node[]): void {
  if (value !== undefined) next.push({ value, step, from })
}

function positionOf(node: Node): ClaimPosition {
  const position: (string | number)[] = []
  for (let at: Node | undefined = node; at?.step !== undefined; at = at.from) position.unshift(at.step)
  return position
}
