/** A key, certificate or CA is missing, cannot be read, or they do not match. The message names the file. */
export class TlsFilesError extends Error {
  override readonly name = 'TlsFilesError'
}
