/** Takes the place of koffi's own search, which begins in node_modules. */
import { createRequire } from 'node:module'
import { koffiBinary } from './own-files.ts'

export function loadStatic(): unknown {
  return createRequire(koffiBinary)(koffiBinary)
}
