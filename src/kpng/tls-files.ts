/** Reads and checks key, certificate and CA at start, so that a bad file is noticed before somebody connects. */
import { X509Certificate } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { createSecureContext } from 'node:tls'
import { KpngError } from './kpng-error.ts'

export interface TlsFiles {
  readonly key: string
  readonly certificate: string
  /** Empty: the CAs of the system; a server must have one. */
  readonly ca: string
}

export interface TlsMaterial {
  readonly key: Buffer
  readonly cert: Buffer
  readonly ca: Buffer | undefined
}

/** Returns undefined, which means plaintext, if no file is named at all. */
export async function readTlsFiles(files: TlsFiles): Promise<TlsMaterial | undefined> {
  const { key, certificate, ca } = files
  if (key === '' && certificate === '' && ca === '') return undefined
  if (key === '' || certificate === '')
    throw new KpngError('bad-tls', 'TLS needs a key and a certificate on both sides')
  const material: TlsMaterial = {
    key: await read(key),
    cert: await read(certificate),
    ca: ca === '' ? undefined : await read(ca),
  }
  if (material.ca !== undefined) mustHoldCertificate(material.ca, ca)
  try {
    createSecureContext({ ...material, minVersion: 'TLSv1.2' })
  } catch (error) {
    throw new KpngError('bad-tls', `the TLS files ${key}, ${certificate} ${ca} do not match: ${reasonOf(error)}`, {
      cause: error,
    })
  }
  return material
}

/** OpenSSL accepts a file without certificates as an empty list. */
function mustHoldCertificate(ca: Buffer, path: string): void {
  try {
    void new X509Certificate(ca)
  } catch (error) {
    throw new KpngError('bad-tls', `the TLS file ${path} holds no certificate: ${reasonOf(error)}`, { cause: error })
  }
}

async function read(path: string): Promise<Buffer> {
  try {
    return await readFile(path)
  } catch (error) {
    throw new KpngError('bad-tls', `the TLS file ${path} cannot be read: ${reasonOf(error)}`, { cause: error })
  }
}

function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
