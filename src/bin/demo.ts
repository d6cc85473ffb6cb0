export function runDemo(_args: string[]): Promise<void> {
  return Promise.reject(new Error('being written'))
}
