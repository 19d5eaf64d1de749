/** Every page below `/debug/`, put together from what the daemon has. */
import type { DebugPage } from '../../observe/http/debug/debug-page.ts'
import type { FamilyProxy } from './family-proxy.ts'

export interface DebugPagesOptions {
  readonly proxies: readonly FamilyProxy[]
}

export function debugPages(_parts: DebugPagesOptions): readonly DebugPage[] {
  return []
}
