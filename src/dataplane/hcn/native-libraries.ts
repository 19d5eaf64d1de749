import { win32 } from 'node:path'

/** Where the libraries of the system are. */
export interface NativeLibraries {
  readonly computeNetwork: string
  /** Only for the old API. */
  readonly vmCompute: string
  /** Frees what the others lend. */
  readonly ole: string
}

/** From the folder of the system alone: a bare name would be looked for next to node.exe first. */
export function systemLibraries(env: Readonly<Record<string, string | undefined>>): NativeLibraries {
  const folder = win32.join(env['SystemRoot'] ?? String.raw`C:\Windows`, 'System32')
  return {
    computeNetwork: win32.join(folder, 'computenetwork.dll'),
    vmCompute: win32.join(folder, 'vmcompute.dll'),
    ole: win32.join(folder, 'ole32.dll'),
  }
}
