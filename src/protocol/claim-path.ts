/**
 * Claims path pointers: selects claims by a path, and compares paths. Messages have paths, but no claim values.
 * OpenID4VP 1.0, Claims Path Pointer, Semantics for JSON-based credentials; the same in OpenID4VCI 1.0.
 */
import { isObject, type Json, memberOf } from '../codec/json.ts'
import type { ClaimPosition } from '../codec/sd-jwt.ts'
import { type ClaimPath, type ClaimStep, pathText } from './claim-path-text.ts'

export interface SelectedClaim {
  readonly path: ClaimPosition
  readonly value: Json
}

export type Selection = { readonly claims: readonly SelectedClaim[] } | { readonly problem: string }

/**
 * A visited value, with the step to it and its parent. Positions are computed from these for the final selection only.
 */
interface Node {
  readonly value: Json
  readonly step?: string | number
  readonly from?: Node
}

/** Tests whether a value has the form of a claims path pointer. */
export function isClaimPath(value: unknown): value is ClaimPath {
  return Array.isArray(value) && value.every((step) => typeof step === 'string' || step === null || isIndex(step))
}

/** Tests whether a value is an array index. */
export function isIndex(step: unknown): step is number {
  return Number.isInteger(step) && (step as number) >= 0
}

/** Returns the claims that `path` selects in `claims`. */
export function selectClaims(claims: Json, path: ClaimPath): Selection {
  if (path.length === 0) return { problem: 'an empty path points to no claim' }
  let nodes: readonly Node[] = [{ value: claims }]
  for (const [i, step] of path.entries()) {
    const next: Node[] = []
    for (const node of nodes) {
      const problem = problemOf(node.value, step)
      if (problem !== undefined) return { problem: `${pathText(path)}: ${pathText(path.slice(0, i))} ${problem}` }
      addSelectedNodes(node, step, next)
    }
    nodes = next
    if (nodes.length === 0) return { problem: `${pathText(path)}: there is no ${pathText(path.slice(0, i + 1))}` }
  }
  return { claims: nodes.map((node) => ({ path: positionOf(node), value: node.value })) }
}

/** Tests whether `inner` equals `outer` or is inside of it. */
export function isWithin(inner: ClaimPosition, outer: ClaimPosition): boolean {
  return outer.length <= inner.length && outer.every((step, at) => step === inner[at])
}

/** Tests whether a step of a path matches a step of a position; false if that is undefined. */
export function stepMatches(step: ClaimStep, positionStep: string | number | undefined): boolean {
  return step === null ? typeof positionStep === 'number' : step === positionStep
}

/** Returns why the step selects nothing in a value of this type; undefined if it may select something. */
function problemOf(value: Json, step: ClaimStep): string | undefined {
  if (typeof step === 'string') return isObject(value) ? undefined : 'is not an object'
  if (step !== null && !isIndex(step)) return 'is followed by what is neither name nor index'
  return Array.isArray(value) ? undefined : 'is not an array'
}

/** Appends the members or elements that the step selects to `next`. */
function addSelectedNodes(node: Node, step: ClaimStep, next: Node[]): void {
  const { value } = node
  if (Array.isArray(value)) {
    if (step !== null) addNode(node, Number(step), value[Number(step)], next)
    else for (let i = 0; i < value.length; i++) addNode(node, i, value[i], next)
  } else if (isObject(value) && typeof step === 'string') addNode(node, step, memberOf(value, step), next)
}

function addNode(from: Node, step: string | number, value: Json | undefined, next: Node[]): void {
  if (value !== undefined) next.push({ value, step, from })
}

function positionOf(node: Node): ClaimPosition {
  const position: (string | number)[] = []
  for (let at: Node | undefined = node; at?.step !== undefined; at = at.from) position.unshift(at.step)
  return position
}
