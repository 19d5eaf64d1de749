/** Makes the Windows machine before the first test file, so that no two make it at once, and ends it after the last. */
import { endWine, setUpWindows } from './set-up.ts'
import { missingTools } from './wine.ts'

export async function setup(): Promise<(() => Promise<void>) | undefined> {
  if (missingTools !== undefined) return undefined
  const { prefix } = await setUpWindows()
  return () => endWine(prefix)
}
