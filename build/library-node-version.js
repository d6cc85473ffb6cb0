// The first module that Node loads of a library throws on a Node that is too old, and says which one is needed and
// where to get it. Deno, Bun and edge runtimes may come here too, and name a version of Node, or none. The syntax is
// one that every such Node reads.
const { node, deno, bun } = (typeof process === 'object' && process.versions) || {}
const [major, minor] = node && !deno && !bun ? node.split('.').map(Number) : []
if (major < 20 || (major === 20 && minor < 19)) {
  throw new Error(
    `Vouchsafe needs Node 20.19 or later, and this is Node ${node}: get Node 24 from https://nodejs.org/en/download, or with nvm: nvm install 24`,
  )
}
