/**
 * Runs a script in the Windows build of Node.js and prints what it wrote:
 * `npx tsx tests/windows/on-windows.ts SCRIPT [argument…]`
 */
import { resolve } from 'node:path'
import { endWine, setUpWindows } from './testing/set-up.ts'
import { runOnWindows } from './testing/windows-process.ts'

const [script = '', ...args] = process.argv.slice(2)
const { exitCode, stderr, stdout } = await runOnWindows(resolve(script), { args, timeLimitMs: 10 * 60_000 })
process.stdout.write(stdout)
process.stderr.write(stderr)
process.exitCode = exitCode ?? 1
await endWine((await setUpWindows()).prefix)
