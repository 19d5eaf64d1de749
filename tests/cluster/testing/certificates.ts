import { execFile } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'

const run = promisify(execFile)

export interface KeyPair {
  readonly certFile: string
  readonly keyFile: string
}

/** A certificate authority in a folder: makes throw-away certificates with the openssl command. */
export class CertificateAuthority implements KeyPair {
  readonly #folder: string
  readonly certFile: string
  readonly keyFile: string

  private constructor(folder: string) {
    this.#folder = folder
    this.certFile = join(folder, 'ca.crt')
    this.keyFile = join(folder, 'ca.key')
  }

  static async create(folder: string): Promise<CertificateAuthority> {
    const authority = new CertificateAuthority(folder)
    await createKey(authority.keyFile)
    await run('openssl', [
      'req',
      '-x509',
      '-new',
      '-key',
      authority.keyFile,
      '-out',
      authority.certFile,
      '-days',
      '2',
      '-subj',
      '/CN=fairlead-test-ca',
    ])
    return authority
  }

  /** A certificate of the API server, valid for 127.0.0.1 and localhost or for other names, as openssl writes them. */
  async server(name: string, names: readonly string[] = ['IP:127.0.0.1', 'DNS:localhost']): Promise<KeyPair> {
    return this.#issue(name, `/CN=${name}`, `extendedKeyUsage=serverAuth\nsubjectAltName=${names.join(',')}\n`)
  }

  /** A client certificate: Kubernetes reads the user from CN and the group from O. */
  async client(user: string, group: string): Promise<KeyPair> {
    return this.#issue(user, `/O=${group}/CN=${user}`, 'extendedKeyUsage=clientAuth\n')
  }

  async #issue(name: string, subject: string, extensions: string): Promise<KeyPair> {
    const [certFile, keyFile, request, extensionFile] = ['crt', 'key', 'csr', 'ext'].map((suffix) =>
      join(this.#folder, `${name}.${suffix}`),
    ) as [string, string, string, string]
    await createKey(keyFile)
    await writeFile(extensionFile, extensions)
    await run('openssl', ['req', '-new', '-key', keyFile, '-out', request, '-subj', subject])
    await run('openssl', [
      'x509',
      '-req',
      '-in',
      request,
      '-CA',
      this.certFile,
      '-CAkey',
      this.keyFile,
      '-CAcreateserial',
      '-out',
      certFile,
      '-days',
      '1',
      '-extfile',
      extensionFile,
    ])
    return { certFile, keyFile }
  }
}

/** An elliptic-curve key: made at once, while an RSA key takes a noticeable part of a second. */
export async function createKey(file: string): Promise<void> {
  await run('openssl', ['ecparam', '-name', 'prime256v1', '-genkey', '-noout', '-out', file])
}
