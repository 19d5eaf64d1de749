/** Ends the run at once, with the way out, where nothing has been packaged. */
import { existsSync } from 'node:fs'
import { packageHere } from './built-package.ts'

export default function needsPackage(): void {
  const { executable } = packageHere
  if (!existsSync(executable)) throw new Error(`${executable} is missing: run "npm run package"`)
}
