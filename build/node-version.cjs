// The first module that each entry loads ends the process on a Node that is too old, and says which one is needed and
// where to get it. Its syntax is one that every such Node reads. It stands at the top of `dist/vouchsafe.cjs` as well.
const [major, minor] = process.versions.node.split('.').map(Number)
if (major < 20 || (major === 20 && minor < 19)) {
  process.stderr.write(
    `Vouchsafe needs Node 20.19 or later, and this is Node ${process.versions.node}: get Node 24 from https://nodejs.org/en/download, or with nvm: nvm install 24\n`,
  )
  process.exit(2)
}
