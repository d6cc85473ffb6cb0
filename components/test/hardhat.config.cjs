// A chain where nobody needs a balance: a block for each transaction, at no price.
module.exports = {
  networks: { hardhat: { initialBaseFeePerGas: 0, gasPrice: 0, hardfork: 'cancun', loggingEnabled: false } },
}
