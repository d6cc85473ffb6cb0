export function runDoctor(_args: string[]): Promise<void> {
  return Promise.reject(new Error('being written'))
}
