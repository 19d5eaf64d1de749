/** Reads and checks key, certificate and CA at start, so that a bad file is noticed before somebody connects. */
import { X509Certificate } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { createSecureContext } from 'node:tls'
import { TlsFilesError } from './tls-files-error.ts'

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

/** Returns undefined, which means plaintext, if no file is named at all. At once: they are small, and the handshake of a
 * client may wait for them. Throws a TlsFilesError. */
export function readTlsFiles(files: TlsFiles): TlsMaterial | undefined {
  const { key, certificate, ca } = files
  if (key === '' && certificate === '' && ca === '') return undefined
  if (key === '' || certificate === '') throw new TlsFilesError('TLS needs a key and a certificate on both sides')
  const material: TlsMaterial = {
    key: read(key),
    cert: read(certificate),
    ca: ca === '' ? undefined : read(ca),
  }
  if (material.ca !== undefined) mustHoldCertificate(material.ca, ca)
  try {
    createSecureContext({ ...material, minVersion: 'TLSv1.2' })
  } catch (error) {
    throw new TlsFilesError(
      `the TLS files ${[key, certificate, ca].join(' ').trim()} do not match: ${reasonOf(error)}`,
      {
        cause: error,
      },
    )
  }
  return material
}

/** OpenSSL accepts a file without certificates as an empty list. */
function mustHoldCertificate(ca: Buffer, path: string): void {
  try {
    void new X509Certificate(ca)
  } catch (error) {
    throw new TlsFilesError(`the TLS file ${path} holds no certificate: ${reasonOf(error)}`, { cause: error })
  }
}

function read(path: string): Buffer {
  try {
    return readFileSync(path)
  } catch (error) {
    throw new TlsFilesError(`the TLS file ${path} cannot be read: ${reasonOf(error)}`, { cause: error })
  }
}

function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
