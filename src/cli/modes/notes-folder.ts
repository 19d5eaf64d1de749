import { join } from 'node:path'
import type { Host } from '../host/host.ts'

/** Where a mode of Windows writes down what is its own: in `--state-dir`, or where programs keep such things. */
export function notesFolder(stateDir: string, { env }: Pick<Host, 'env'>): string {
  return stateDir === '' ? join(env['ProgramData'] ?? 'C:\\ProgramData', 'fairlead') : stateDir
}
