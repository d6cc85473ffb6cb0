/** Why the TLS certificate of a server is not accepted, for whoever runs the client. */

/** Matches the codes of Node for a certificate that is not accepted. */
const CERTIFICATE = /CERT|SIGNATURE|UNABLE_TO|SELF_SIGNED|CRL|HOSTNAME_MISMATCH|INVALID_CA|PATH_LENGTH/

/** Returns what is wrong with the certificate of `host`, and what to do; undefined for the code of another error. */
export function describeCertificateProblem(code: string, host: string): string | undefined {
  if (!CERTIFICATE.test(code)) return undefined
  return `the TLS certificate of ${host} is not accepted (${code}); to trust an authority of your own, set NODE_EXTRA_CA_CERTS to its PEM file`
}
