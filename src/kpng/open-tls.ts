import type { Logger } from '../core/logger.ts'
import { TlsFilesError } from '../http/tls/tls-files-error.ts'
import type { TlsFiles } from '../http/tls/tls-files.ts'
import { TlsSource } from '../http/tls/tls-source.ts'
import { KpngError } from './kpng-error.ts'

/** Returns undefined, which means plaintext, if no file is named at all. */
export function openTls(files: TlsFiles, log: Logger): TlsSource | undefined {
  try {
    return TlsSource.open(files, log)
  } catch (error) {
    throw error instanceof TlsFilesError ? new KpngError('bad-tls', error.message, { cause: error }) : error
  }
}
