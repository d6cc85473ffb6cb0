export function runWallet(_args: string[]): Promise<void> {
  return Promise.reject(new Error('being written'))
}
