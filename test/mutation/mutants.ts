/**
 * The mutants of a source file: each the file with one small thing wrong, as a slip or a deleted check would make it.
 * Types, imports and texts for people (those with a space, and descriptions) are left alone: no test should hold them.
 */
import ts from 'typescript'

/** The characters from `start` to `end` replaced by `text`. */
export interface Mutant {
  readonly start: number
  readonly end: number
  readonly text: string
}

const SWAPPED: Partial<Record<ts.SyntaxKind, readonly string[]>> = {
  [ts.SyntaxKind.EqualsEqualsEqualsToken]: ['!=='],
  [ts.SyntaxKind.ExclamationEqualsEqualsToken]: ['==='],
  [ts.SyntaxKind.LessThanToken]: ['<=', '>='],
  [ts.SyntaxKind.LessThanEqualsToken]: ['<', '>'],
  [ts.SyntaxKind.GreaterThanToken]: ['>=', '<='],
  [ts.SyntaxKind.GreaterThanEqualsToken]: ['>', '<'],
  [ts.SyntaxKind.AmpersandAmpersandToken]: ['||'],
  [ts.SyntaxKind.BarBarToken]: ['&&'],
  [ts.SyntaxKind.PlusToken]: ['-'],
  [ts.SyntaxKind.MinusToken]: ['+'],
  [ts.SyntaxKind.AsteriskToken]: ['/'],
  [ts.SyntaxKind.SlashToken]: ['*'],
  [ts.SyntaxKind.AmpersandToken]: ['|'],
  [ts.SyntaxKind.BarToken]: ['&'],
}

/** In pairs that mean the opposite, or more and less. */
const METHODS: Readonly<Record<string, string>> = {
  every: 'some',
  some: 'every',
  startsWith: 'endsWith',
  endsWith: 'startsWith',
  floor: 'ceil',
  ceil: 'floor',
  min: 'max',
  max: 'min',
}

export function mutantsOf(source: string): readonly Mutant[] {
  const file = ts.createSourceFile('mutated.ts', source, ts.ScriptTarget.ES2023, true)
  const mutants: Mutant[] = []
  const visit = (node: ts.Node): void => {
    if (isLeftAlone(node)) return
    for (const [from, to, text] of mutationsOf(node)) mutants.push({ start: from, end: to, text })
    ts.forEachChild(node, visit)
  }
  visit(file)
  const seen = new Set<string>()
  return mutants.filter(({ start, end, text }) => {
    const key = `${start} ${end} ${text}`
    return source.slice(start, end) !== text && !seen.has(key) && seen.add(key)
  })
}

function isLeftAlone(node: ts.Node): boolean {
  if (ts.isTypeNode(node) || ts.isImportDeclaration(node) || ts.isInterfaceDeclaration(node)) return true
  return isTypeAlias(node) || isDescription(node)
}

/** Tests whether the node is a description in a schema. */
function isDescription(node: ts.Node): boolean {
  return ts.isPropertyAssignment(node) && node.name.getText() === 'description' && ts.isStringLiteral(node.initializer)
}

function isTypeAlias(node: ts.Node): boolean {
  return ts.isTypeAliasDeclaration(node) || ts.isExportDeclaration(node)
}

type Mutation = readonly [start: number, end: number, text: string]

function mutationsOf(node: ts.Node): readonly Mutation[] {
  return [...ofConditions(node), ...ofOperators(node), ...ofStatements(node), ...ofLiterals(node), ...ofLists(node)]
}

function replace(node: ts.Node, text: string): Mutation {
  return [node.getStart(), node.getEnd(), text]
}

function ofConditions(node: ts.Node): readonly Mutation[] {
  if (ts.isIfStatement(node)) return [replace(node.expression, 'true'), replace(node.expression, 'false')]
  if (ts.isWhileStatement(node)) return [replace(node.expression, 'false')]
  if (ts.isConditionalExpression(node)) return [replace(node.condition, 'true'), replace(node.condition, 'false')]
  return []
}

function ofOperators(node: ts.Node): readonly Mutation[] {
  if (ts.isBinaryExpression(node)) {
    const { left, right, operatorToken } = node
    const swapped = (SWAPPED[operatorToken.kind] ?? []).map((text) => replace(operatorToken, text))
    return isLogical(operatorToken.kind)
      ? [...swapped, replace(node, left.getText()), replace(node, right.getText())]
      : swapped
  }
  if (ts.isPrefixUnaryExpression(node) && node.operator === ts.SyntaxKind.ExclamationToken)
    return [replace(node, node.operand.getText())]
  if (ts.isPropertyAccessExpression(node)) {
    const method = METHODS[node.name.text]
    const swapped = method !== undefined && Object.hasOwn(METHODS, node.name.text) ? [replace(node.name, method)] : []
    return node.questionDotToken ? [...swapped, replace(node.questionDotToken, '.')] : swapped
  }
  return []
}

function isLogical(kind: ts.SyntaxKind): boolean {
  return [
    ts.SyntaxKind.AmpersandAmpersandToken,
    ts.SyntaxKind.BarBarToken,
    ts.SyntaxKind.QuestionQuestionToken,
  ].includes(kind)
}

function ofStatements(node: ts.Node): readonly Mutation[] {
  if (ts.isExpressionStatement(node)) return [replace(node, ';')]
  if (ts.isThrowStatement(node)) return [replace(node, ';')]
  if (ts.isBlock(node) && node.statements.length > 0) return [replace(node, '{}')]
  if (ts.isReturnStatement(node) && node.expression) return [replace(node.expression, 'undefined')]
  if (ts.isArrowFunction(node) && !ts.isBlock(node.body)) return [replace(node.body, 'undefined')]
  return []
}

function ofLiterals(node: ts.Node): readonly Mutation[] {
  if (node.kind === ts.SyntaxKind.TrueKeyword) return [replace(node, 'false')]
  if (node.kind === ts.SyntaxKind.FalseKeyword) return [replace(node, 'true')]
  if (ts.isNumericLiteral(node)) return [replace(node, `(${node.text} + 1)`)]
  if (ts.isRegularExpressionLiteral(node)) return withoutAnchors(node)
  if (!ts.isStringLiteral(node) || node.text.includes(' ')) return []
  if (ts.isPropertyAssignment(node.parent) && node.parent.name === node) return []
  return [replace(node, node.text === '' ? "'mutated'" : "''")]
}

function withoutAnchors(node: ts.RegularExpressionLiteral): readonly Mutation[] {
  const { text } = node
  return [text.replace(/^\/\^/, '/'), text.replace(/\$\/([a-z]*)$/, '/$1')].map((each) => replace(node, each))
}

/** Leaves out every element of an array and every member of an object in turn. */
function ofLists(node: ts.Node): readonly Mutation[] {
  const members = ts.isArrayLiteralExpression(node)
    ? node.elements
    : ts.isObjectLiteralExpression(node)
      ? node.properties
      : undefined
  return (members ?? []).flatMap((member, at): readonly Mutation[] => {
    if (isDescription(member)) return []
    const next = members?.[at + 1]
    if (next) return [[member.getStart(), next.getStart(), '']]
    return [[members?.[at - 1]?.getEnd() ?? member.getStart(), member.getEnd(), '']]
  })
}
