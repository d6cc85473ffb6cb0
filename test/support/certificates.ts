/** Certificates with one thing changed, and certificates of OpenSSL. */
import { generateKeyPair as generateKeyPairCallback } from 'node:crypto'
import { promisify } from 'node:util'
import { readDer, writeSequence } from '../../src/codec/der.ts'
import { type Certificate, readPemCertificates } from '../../src/keys/certificate.ts'
import { writeName } from '../../src/keys/certificate-name.ts'
import { type CertificateContent, makeCertificate, usualExtensions } from '../../src/keys/make-certificate.ts'

// Made once with OpenSSL 3.0; they are valid for a hundred years.

export const RSASSA_PSS = `-----BEGIN CERTIFICATE-----
MIIDxzCCAnugAwIBAgIUHWYFbTXhObxRBkJTueIxgHsEw+gwQQYJKoZIhvcNAQEK
MDSgDzANBglghkgBZQMEAgEFAKEcMBoGCSqGSIb3DQEBCDANBglghkgBZQMEAgEF
AKIDAgEgMD4xCzAJBgNVBAYTAkRFMRowGAYDVQQKDBFNdXN0ZXIgSG9jaHNjaHVs
ZTETMBEGA1UEAwwKUlNBU1NBLVBTUzAgFw0yNjExMjAwODAyMzRaGA8yMTI2MTAy
NzA4MDIzNFowPjELMAkGA1UEBhMCREUxGjAYBgNVBAoMEU11c3RlciBIb2Noc2No
dWxlMRMwEQYDVQQDDApSU0FTU0EtUFNTMIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8A
MIIBCgKCAQEAkF3NwpifRGJ5uoo8+QIWxyVO3uDnu99tZA3GNriPpPG5sdDFJgvv
JY9vvDzsjOxQWgJLAiszsqIzIaSkjTSqqEg8dcotvavTsE55ZNwPpsPosNfw5MQ2
GvyiKb1S+IobR80GgaM81KbMWZygZ78kUjZMYBDbibs8JgaZLLuSWz57vJrW0PYo
pk4o32gCzooVuBMhbXeTdCIzE5pVIwtCNG/4Hccgn1kniboGFvzP9r6FXUhVEOdp
h1GcXR5U0isa7SIOlfA5krMHCvENvhQ5rzwF7SStnFg1a7NyQ3NWYTU8akJwZPHM
qVoTbjAtXYtwJwMbUdWhu8XHKI1EPMfNmwIDAQABo1MwUTAdBgNVHQ4EFgQU7GAI
xDzA0hag0P5iH6ziSqAqa8EwHwYDVR0jBBgwFoAU7GAIxDzA0hag0P5iH6ziSqAq
a8EwDwYDVR0TAQH/BAUwAwEB/zBBBgkqhkiG9w0BAQowNKAPMA0GCWCGSAFlAwQC
AQUAoRwwGgYJKoZIhvcNAQEIMA0GCWCGSAFlAwQCAQUAogMCASADggEBAISkxkDy
NyExTkn9mLPFHOZNQV6vNQbIvKd/1zmecZ2B7V4UUb/2z5AcEPXafftNrvOVh3aB
RvlJeNfRY0lFqgSdFwCMlr53pReUt5D2eCK4idf8qUna938dkwtRoWH5899I2DhH
CHpl1IIU3EPvnW+a/n6kTFBQVrTxC+/kR/az3yD9AbZVhMEDd9V6YYgFCK7Y7xuM
+qWX7KdaMXmruQvLyM2zck7tk9TVcXq6NTamv08+sCkBu6C1vKt3QJCpU4xhIyFi
YHVkg41ZioAoFLtMRwzu5f6k7qWjP6NCc0++LKqoN8Mzt3g0lVF/5OZho2u7X5pG
FHihbmFfrDNaG7I=
-----END CERTIFICATE-----
`

export const P384 = `-----BEGIN CERTIFICATE-----
MIIBtTCCATqgAwIBAgIUN95Ul+yKW9WeEEBCV8+ADCdE+7MwCgYIKoZIzj0EAwMw
EDEOMAwGA1UEAwwFUC0zODQwIBcNMjYxMTIwMDgwMjM0WhgPMjEyNjEwMjcwODAy
MzRaMBAxDjAMBgNVBAMMBVAtMzg0MHYwEAYHKoZIzj0CAQYFK4EEACIDYgAEBILM
9SgkgJq7jsGkx1XYAnVY7gXYQXWAl04U8FkAFNoGokjF0gNi/CJGfwl7sqEexeq+
g+if0iIZ7RwxGSKFCtD5/qjWZtuYD44z0v60/WJfiuMjB83Sl76AQtvG+Nabo1Mw
UTAdBgNVHQ4EFgQUFVrwGPv9qBuTZDxch1Bf+qWjIv8wHwYDVR0jBBgwFoAUFVrw
GPv9qBuTZDxch1Bf+qWjIv8wDwYDVR0TAQH/BAUwAwEB/zAKBggqhkjOPQQDAwNp
ADBmAjEAt5kVgkq0KfDol7oDvYU1dMv5UQb371yO9rZyx7qhbS54S4YSEv7t5+RT
OFnqzyoyAjEAl77MgIrlC2i3MZshSHcXeXgCpM787UB3LWNjHCzYL5JbDBUrBQiy
MwXmBufpyLCw
-----END CERTIFICATE-----
`

export const ED25519 = `-----BEGIN CERTIFICATE-----
MIIBOjCB7aADAgECAhRDgyfDDO0HwDN+sEKnmvSNplUNpzAFBgMrZXAwEjEQMA4G
A1UEAwwHRWQyNTUxOTAgFw0yNjExMjAwODAyMzRaGA8yMTI2MTAyNzA4MDIzNFow
EjEQMA4GA1UEAwwHRWQyNTUxOTAqMAUGAytlcAMhAFLKTNP9157POZpWb8bhN8dC
RGz1oN1XRkzl3NwtRKtuo1MwUTAdBgNVHQ4EFgQUuzMUn/i34kcPcop8wIpLJLXV
PHEwHwYDVR0jBBgwFoAUuzMUn/i34kcPcop8wIpLJLXVPHEwDwYDVR0TAQH/BAUw
AwEB/zAFBgMrZXADQQAMXUITK974w6/mu0raBsqTxYE2DWZZyIPmhMDKDez16k1D
zZ9AwAglDj4QDiHB6loeLVxsFAm3F0gu+EsuP6sE
-----END CERTIFICATE-----
`

export const VERSION_1 = `-----BEGIN CERTIFICATE-----
MIIBFjCBvQIUUnBq0XaaD1UnQDzXHtenN8kqNF8wCgYIKoZIzj0EAwIwDTELMAkG
A1UEAwwCdjEwIBcNMjYxMTIwMDgwMjM0WhgPMjEyNjEwMjcwODAyMzRaMA0xCzAJ
BgNVBAMMAnYxMFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEIdUT2J3wdi6ogGEK
eOM9zPa26EkDagSCPUJRmbwRBIl5vRvV5gDp29rkVmp6h2l1pg8UCkqDbNGQopvb
dVAzljAKBggqhkjOPQQDAgNIADBFAiBvtXWxp7crc8sD0XBhqt4KgyT5Yh5iNNva
Kmi+uUeC+wIhAOqIn0fCBh2xvWDEuE9j4dpDaky60eg8fVgUrMHRlvFF
-----END CERTIFICATE-----
`

export const SHA1 = `-----BEGIN CERTIFICATE-----
MIIBdTCCARygAwIBAgIUOpC/qJ0G8+UbUMK3PUrDBJOrVJMwCQYHKoZIzj0EATAQ
MQ4wDAYDVQQDDAVTSEEtMTAgFw0yNjExMjAwODAyMzRaGA8yMTI2MTAyNzA4MDIz
NFowEDEOMAwGA1UEAwwFU0hBLTEwWTATBgcqhkjOPQIBBggqhkjOPQMBBwNCAASq
qSM6m38MyYyX1Fds5Fk4m4xV2H2weLicZu0QvRbg14GVv2rz9vS+2Rc2hRdK2Wit
/HONaELBeEA7kDVdrtR3o1MwUTAdBgNVHQ4EFgQUPPrUhiUwJ91RSlMGLnDGbc3T
BbcwHwYDVR0jBBgwFoAUPPrUhiUwJ91RSlMGLnDGbc3TBbcwDwYDVR0TAQH/BAUw
AwEB/zAJBgcqhkjOPQQBA0gAMEUCIHT35SCvnvdMM/sku2snjr3zIlDk1VP3EBMi
377jdqJ/AiEA8hFiFcthMMCh5C4jJR0llsUOS8joeaaD/eyoEWoI6yM=
-----END CERTIFICATE-----
`

export const EXPLICIT_CURVE = `-----BEGIN CERTIFICATE-----
MIICcTCCAhegAwIBAgIUQ9i4y+5IAFUraoxnALK6X6li3hMwCgYIKoZIzj0EAwIw
EzERMA8GA1UEAwwIRXhwbGljaXQwIBcNMjYxMTIwMDgwMjM0WhgPMjEyNjEwMjcw
ODAyMzRaMBMxETAPBgNVBAMMCEV4cGxpY2l0MIIBSzCCAQMGByqGSM49AgEwgfcC
AQEwLAYHKoZIzj0BAQIhAP////8AAAABAAAAAAAAAAAAAAAA////////////////
MFsEIP////8AAAABAAAAAAAAAAAAAAAA///////////////8BCBaxjXYqjqT57Pr
vVV2mIa8ZR0GsMxTsPY7zjw+J9JgSwMVAMSdNgiG5wSTamZ44ROdJreBn36QBEEE
axfR8uEsQkf4vOblY6RA8ncDfYEt6zOg9KE5RdiYwpZP40Li/hp/m47n60p8D54W
K84zV2sxXs7LtkBoN79R9QIhAP////8AAAAA//////////+85vqtpxeehPO5ysL8
YyVRAgEBA0IABLjV7+e3tj6AgmBDqGSU/3Z/ZcG5pThXrIEO2y9zy4pcMjkvT4NS
ZuuYGGWvVQJZ3XaOTzKCelb4EXWU5lKzO4qjUzBRMB0GA1UdDgQWBBSj+HfDUEUq
HhQzz0SGLM2cfMj0xzAfBgNVHSMEGDAWgBSj+HfDUEUqHhQzz0SGLM2cfMj0xzAP
BgNVHRMBAf8EBTADAQH/MAoGCCqGSM49BAMCA0gAMEUCIEb6fJYr9nAhWpaKbh/t
HxLVizlYYnCBUYHoX1/T8pNQAiEAgbkL8ik2Q/34sI7cUdCJBLm8Uvqac4RHL95n
n0qYq/w=
-----END CERTIFICATE-----
`

export const MANY_NAMES = `-----BEGIN CERTIFICATE-----
MIICTzCCAfagAwIBAgIUffwM4u0QnXVvDHT7Eufvca+r28owCgYIKoZIzj0EAwIw
QzELMAkGA1UEBhMCREUxJjAIBgNVBAsMAUEwGgYDVQQKDBNVbml2ZXJzaXTDpHQs
IEvDtmxuMQwwCgYDVQQDDAN4L3kwIBcNMjYxMTIwMDgwMjM0WhgPMjEyNjEwMjcw
ODAyMzRaMEMxCzAJBgNVBAYTAkRFMSYwCAYDVQQLDAFBMBoGA1UECgwTVW5pdmVy
c2l0w6R0LCBLw7ZsbjEMMAoGA1UEAwwDeC95MFkwEwYHKoZIzj0CAQYIKoZIzj0D
AQcDQgAE+9k1M3FWKFxUGieVQdsJ6PvtUx01uNSFObM286VIW0MHJna6VSp2JgYy
SkgRPitIodmMYgaiawgUcX+v08g0U6OBxTCBwjAdBgNVHQ4EFgQUSTH5p2w1Lzl8
Pg1OOCh4VIYCCIkwHwYDVR0jBBgwFoAUSTH5p2w1Lzl8Pg1OOCh4VIYCCIkwDwYD
VR0TAQH/BAUwAwEB/zBeBgNVHREEVzBVgglhLmV4YW1wbGWHBAoAAAGHECABDbgA
AAAAAAAAAAAAAAGGE2h0dHBzOi8vYS5leGFtcGxlL3iBC2FAYi5leGFtcGxlpA4w
DDEKMAgGA1UEAwwBcTAPBgNVHQ8BAf8EBQMDB4CAMAoGCCqGSM49BAMCA0cAMEQC
IDWqq2nqNsU7OGU7u5Wo2Ub6FSjCJ34pcsz8Gt/7RKIfAiBI2ebXZwVpFH88zZyi
193eeAeb4SSbXLbQo3QGO9ly3Q==
-----END CERTIFICATE-----
`

// Asynchronous: a key of the synchronous kind may never be exported in Node 20.
export const generateKeyPair = promisify(generateKeyPairCallback)
export const testKeys = await generateKeyPair('ec', { namedCurve: 'P-256' })
export const testName = writeName([
  ['C', 'DE'],
  ['O', 'Example Foundation'],
  ['CN', 'Example University'],
])

/** Makes a certificate that signed itself. */
export function testCertificate(change: Partial<CertificateContent> = {}): Buffer {
  return makeCertificate({
    subject: testName,
    publicKey: testKeys.publicKey,
    issuer: { name: testName, privateKey: testKeys.privateKey },
    serial: Buffer.from('7f01', 'hex'),
    notBefore: new Date('2027-01-01T00:00:00Z'),
    notAfter: new Date('2028-01-01T00:00:00Z'),
    extensions: usualExtensions({
      publicKey: testKeys.publicKey,
      issuerPublicKey: testKeys.publicKey,
      isCa: false,
      names: { dnsNames: ['university.example'], uris: ['https://university.example'] },
    }),
    ...change,
  })
}

/** Changes the members of the signed part of the certificate; the signature is not made again. */
export function editSigned(der: Uint8Array, change: (members: Buffer[]) => readonly Buffer[]): Buffer {
  const [signed, ...rest] = readDer(der).children
  const members = (signed?.children ?? []).map((member) => member.der)
  return writeSequence(writeSequence(...change(members)), ...rest.map((part) => part.der))
}

/** Makes the change of one member for {@link editSigned}. */
export const replaceMember = (index: number, member: Buffer) => (members: Buffer[]) => members.with(index, member)

/** Parses PEM of one certificate. */
export function readOnePem(pem: string): Certificate {
  const [certificate] = readPemCertificates(pem)
  if (certificate === undefined) throw new Error('no certificate')
  return certificate
}
