// A chain for tests: nothing is compiled here, so that nothing is downloaded.
module.exports = {
  solidity: '0.8.37',
  networks: { hardhat: { chainId: 31337, hardfork: 'cancun' } },
  paths: {
    sources: './none',
    tests: './none',
    cache: './node_modules/.cache/hardhat',
    artifacts: './node_modules/.cache/none',
  },
}
