/** What is measured runs as plain JavaScript from the same compiler as the package: a loader would cost memory. */
import { execFile } from 'node:child_process'
import { join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

const root = fileURLToPath(new URL('../../', import.meta.url))

/** Compiles the scripts that tsconfig.compiled.json names. */
export async function compileScripts(): Promise<void> {
  const tsc = join(root, 'node_modules/.bin/tsc')
  await promisify(execFile)(tsc, ['-p', 'tests/bench/tsconfig.compiled.json'], { cwd: root }).catch(
    (cause: Error & { readonly stdout: string }) => {
      throw new Error(`the measured scripts do not compile:\n${cause.stdout}`, { cause })
    },
  )
}

/** Where the compiler puts a script, here or in another checkout. */
export function compiledScript(source: URL, checkout = root): string {
  return join(checkout, '.cache/bench/compiled', relative(root, fileURLToPath(source)).replace(/\.ts$/, '.js'))
}
