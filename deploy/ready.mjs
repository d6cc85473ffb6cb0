// The health check of an image: exits with 0 when the service at this port of the container is ready, else with 1.
const [, , port] = process.argv
const answer = await fetch(`http://127.0.0.1:${port}/health/ready`, { signal: AbortSignal.timeout(4000) }).catch(
  ({ cause, message }) => ({ status: cause?.code ?? message }),
)
if (answer.status !== 200) {
  process.stderr.write(`not ready: ${answer.status}\n`)
  process.exit(1)
}
