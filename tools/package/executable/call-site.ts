/** Takes the place of src/observe/logging/call-site.ts in the executable, where all code lies in one file. */
import { callSite as inBundle } from '../../../src/observe/logging/call-site.ts'
import type { CallSite } from '../../../src/observe/logging/call-site.ts'
import { sourceOf } from './source-lines.ts'

export { baseName, shortPath } from '../../../src/observe/logging/call-site.ts'

export function callSite(above: (...args: never[]) => unknown): CallSite {
  return sourceOf(inBundle(above))
}
