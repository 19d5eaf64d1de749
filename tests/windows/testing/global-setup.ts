/** Makes the Windows machine before the first test file, so that no two make it at once, and ends it after the last. */
import { spawn } from 'node:child_process'
import { installPackage } from './installed-package.ts'
import { endWine, setUpWindows } from './set-up.ts'
import { installStandInHns } from './stand-in-hns.ts'
import { missingTools, programs, wineEnvironment } from './wine.ts'

export async function setup(): Promise<(() => Promise<void>) | undefined> {
  if (missingTools !== undefined) return undefined
  const { prefix } = await setUpWindows()
  await installPackage()
  await installStandInHns(prefix)
  // Otherwise Wine ends with the last program of a test, and the next one has to wait until it has started again.
  const env = { ...process.env, ...wineEnvironment(prefix) }
  spawn(programs.wine ?? '', ['cmd', '/c', 'ping -n 3600 127.0.0.1'], { env, stdio: 'ignore' })
  return () => endWine(prefix)
}
