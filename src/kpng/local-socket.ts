import { socketProblem } from '../http/named-pipe.ts'
import { KpngError } from './kpng-error.ts'

/** For messages: a server on this machine that only this machine can reach. */
export function localSocket(platform: NodeJS.Platform): string {
  return platform === 'win32' ? 'npipe:////./pipe/fairlead' : 'unix:///run/fairlead.sock'
}

export function checkPlatform(kind: 'unix' | 'pipe', text: string, platform: NodeJS.Platform): void {
  const problem = socketProblem(kind, platform)
  if (problem === undefined) return
  throw new KpngError('bad-address', `"${text}" cannot be used here: ${problem}, write ${localSocket(platform)}`)
}
