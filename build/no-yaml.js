// Takes the place of the package yaml in the bundle.
export function stringify() {
  throw new Error('the OpenAPI document is served as JSON')
}

export function parse() {
  return stringify()
}
