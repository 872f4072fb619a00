/** Settings of TLS to a service: its CA, and the client certificate of this process. All are files, which are read again. */
import { createPrivateKey, X509Certificate } from 'node:crypto'
import { CERTIFICATES, PRIVATE_KEY } from '../format.ts'
import { optional, type ValuesOf } from '../setting.ts'

/** `setting` begins their names, such as `PLATEN_REDIS`. `service` is its name for people. */
export function tlsSettings(setting: string, service: string) {
  return {
    ca: optional(`${setting}_CA_FILE`, CERTIFICATES, {
      default: 'the public authorities',
      description: `PEM file of the CA certificates to trust for ${service}, instead of the public authorities.`,
    }),
    cert: optional(`${setting}_CERT_FILE`, CERTIFICATES, {
      default: 'none',
      description: `PEM file of the client certificate for ${service}, with the certificates between it and the CA.`,
    }),
    key: optional(`${setting}_KEY_FILE`, PRIVATE_KEY, {
      default: 'none',
      description: `PEM file of the private key of \`${setting}_CERT_FILE\`, not encrypted.`,
    }),
  }
}

type TlsValues = ValuesOf<ReturnType<typeof tlsSettings>>

/** `isTls`: is TLS used? Undefined if another setting is wrong. `needed`: what turns it on. */
export function tlsFaults(
  setting: string,
  { ca, cert, key }: Partial<TlsValues>,
  { isTls, needed }: { readonly isTls: boolean | undefined; readonly needed: string },
): readonly (string | false)[] {
  const files = { CA: ca, CERT: cert, KEY: key }
  return [
    ...Object.entries(files).map(
      ([name, file]) => file !== undefined && isTls === false && `${setting}_${name}_FILE needs ${needed}`,
    ),
    (cert === undefined) !== (key === undefined) && `${setting}_CERT_FILE and ${setting}_KEY_FILE are set together`,
    cert !== undefined &&
      key !== undefined &&
      !isPair(cert, key) &&
      `${setting}_KEY_FILE is not the key of the certificate in ${setting}_CERT_FILE`,
  ]
}

/** `X509Certificate` takes the first certificate of a chain, which is the client's own. */
function isPair(cert: string, key: string): boolean {
  return new X509Certificate(cert).checkPrivateKey(createPrivateKey(key))
}
