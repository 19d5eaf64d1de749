import { basename, join } from 'node:path'
import type { ApiAddress } from '../plaintext.ts'

/** An address on this machine that a second server can take after the first: a socket in the folder, on Windows a pipe. */
export function localBind(folder: string): ApiAddress {
  return process.platform === 'win32'
    ? { kind: 'pipe', path: `\\\\.\\pipe\\${basename(folder)}` }
    : { kind: 'unix', path: join(folder, 'core.sock') }
}
