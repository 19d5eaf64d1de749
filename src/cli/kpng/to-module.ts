/** `… to-module -- ./my-backend.js`: a backend of your own in this process. */
import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { KpngBackend } from '../../kpng/sdk/define-backend.ts'
import { CommandError } from '../program.ts'

/** The default export of the module: what `defineBackend` returned. */
export async function loadBackend([path = '']: readonly string[]): Promise<KpngBackend> {
  if (path === '')
    throw new CommandError('to-module needs a module: write it after "--", as in: to-module -- ./backend.js')
  const url = pathToFileURL(resolve(path)).href
  const loaded = (await import(url).catch((error: unknown) => {
    throw new CommandError(
      `the module ${path} cannot be loaded: ${error instanceof Error ? error.message : String(error)}`,
      {
        cause: error,
      },
    )
  })) as { readonly default?: unknown }
  if (isBackend(loaded.default)) return loaded.default
  throw new CommandError(`the module ${path} has no backend: export default defineBackend({ name, sync })`)
}

function isBackend(value: unknown): value is KpngBackend {
  return typeof value === 'object' && value !== null && 'sync' in value && typeof value.sync === 'function'
}
