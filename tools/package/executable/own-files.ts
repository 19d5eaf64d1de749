/** Takes the place of src/host/own-files.ts in the executable: what is not in it lies in ../lib/fairlead, in any prefix. */
import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { getAsset } from 'node:sea'

/** Written into the code when it is bundled. */
declare const FAIRLEAD_VERSION: string

// On Linux execPath is no link, so bin/fairlead may be linked to from anywhere.
const library = join(dirname(dirname(process.execPath)), 'lib', 'fairlead')

export const nativeRelay = join(library, 'relay')

export const nativeRelayAdvice = 'install the package again, with its lib folder'

export function ebpfObject(): string | undefined {
  const path = join(library, 'fairlead.bpf.o')
  return existsSync(path) ? path : undefined
}

export const ebpfObjectAdvice = 'install the package again, with its lib folder'

/** Loaded by koffi-binary.ts. */
export const koffiBinary = join(library, 'koffi.node')

export const relayWorker = (): URL | undefined => threadProgram('relay-worker.js')

export const namespaceWorker = (): URL | undefined => threadProgram('namespace-worker.js')

/** It imports nothing but Node's own modules, so it needs no file. */
function threadProgram(asset: string): URL {
  return new URL(`data:text/javascript;base64,${Buffer.from(getAsset(asset)).toString('base64')}`)
}

export const fairleadVersion = (): string => FAIRLEAD_VERSION

export async function consoleFiles(): Promise<ReadonlyMap<string, Uint8Array>> {
  const files = JSON.parse(getAsset('console.json', 'utf8')) as Readonly<Record<string, string>>
  return new Map(Object.entries(files).map(([name, content]) => [name, Buffer.from(content, 'base64')]))
}
