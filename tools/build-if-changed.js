/** Builds when something has changed since the last build, and says so: a silent wait looks like a fault. */
import { spawnSync } from 'node:child_process'
import { readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url))
const sources = ['src', 'native', 'tools', 'web', 'package.json', 'tsconfig.json', 'tsconfig.build.json']
/** Written by each build, whatever has changed. */
const result = join(root, 'dist/cli/main.js')

const built = statSync(result, { throwIfNoEntry: false })?.mtimeMs ?? 0
if (sources.some((path) => newest(join(root, path)) > built)) {
  const started = performance.now()
  process.stderr.write(built === 0 ? 'Building Fairlead, once ... ' : 'Sources have changed: building Fairlead ... ')
  // npm says which npm it is; on Windows a bare "npm" could not be started.
  const npm = process.env.npm_execpath
  const [program, ...args] = npm === undefined ? ['npm'] : [process.execPath, npm]
  const { status } = spawnSync(program, [...args, 'run', '--silent', 'build'], { cwd: root, stdio: 'inherit' })
  process.exitCode = status ?? 1
  if (status === 0) process.stderr.write(`done in ${Math.ceil((performance.now() - started) / 1000)} s.\n`)
}

/** A folder changes when a file in it comes or goes, so what was deleted counts too. */
function newest(path) {
  const { mtimeMs } = statSync(path)
  const inside = statSync(path).isDirectory() ? readdirSync(path).map((name) => newest(join(path, name))) : []
  return Math.max(mtimeMs, ...inside)
}
