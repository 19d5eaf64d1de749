/** Throw-away certificates, made by the openssl command in a folder that is removed with the test. */
import { execFile } from 'node:child_process'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'

const run = promisify(execFile)

export interface KeyPair {
  readonly cert: string
  readonly key: string
}

export class CertificateAuthority implements AsyncDisposable {
  readonly cert: string
  readonly #dir: string
  #issued = 0

  private constructor(dir: string, cert: string) {
    this.#dir = dir
    this.cert = cert
  }

  static async make(name: string): Promise<CertificateAuthority> {
    const dir = await mkdtemp(join(tmpdir(), 'fairlead-ca-'))
    const subject = ['-subj', `/CN=${name}`, '-days', '2']
    await run('openssl', ['req', '-x509', ...newKey, '-keyout', `${dir}/ca.key`, '-out', `${dir}/ca.crt`, ...subject])
    return new CertificateAuthority(dir, await readFile(`${dir}/ca.crt`, 'utf8'))
  }

  /** A certificate for 127.0.0.1 and localhost, or with other names. */
  server(names = 'IP:127.0.0.1,DNS:localhost'): Promise<KeyPair> {
    return this.#issue('server', `subjectAltName=${names}`)
  }

  client(commonName: string): Promise<KeyPair> {
    return this.#issue(commonName, 'extendedKeyUsage=clientAuth')
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await rm(this.#dir, { recursive: true })
  }

  async #issue(commonName: string, extension: string): Promise<KeyPair> {
    const base = join(this.#dir, `issued-${++this.#issued}`)
    await writeFile(`${base}.ext`, extension)
    await run('openssl', [
      'req',
      ...newKey,
      '-keyout',
      `${base}.key`,
      '-out',
      `${base}.csr`,
      '-subj',
      `/CN=${commonName}`,
    ])
    const signer = [
      '-CA',
      join(this.#dir, 'ca.crt'),
      '-CAkey',
      join(this.#dir, 'ca.key'),
      '-set_serial',
      `${this.#issued}`,
    ]
    const files = ['-in', `${base}.csr`, '-out', `${base}.crt`, '-extfile', `${base}.ext`]
    await run('openssl', ['x509', '-req', ...signer, ...files, '-days', '2'])
    return { cert: await readFile(`${base}.crt`, 'utf8'), key: await readFile(`${base}.key`, 'utf8') }
  }
}

const newKey = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes']
