/** A core and a backend as two processes on one Windows node, with a named pipe between them. */
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import { runOnWindows, WindowsProcess } from './testing/windows-process.ts'
import { missingTools, windowsPath } from './testing/wine.ts'

const root = fileURLToPath(new URL('../../', import.meta.url))
const fairlead = `${root}bin/fairlead.js`
const core = (listen: string) => ({
  args: ['file', 'to-api', `--input=${windowsPath(`${root}examples/manifests/cluster`)}`, `--listen=${listen}`],
})
const backend = (api: string) => ({ args: ['api', 'to-local', '--once', '--node-name=node-a', `--api=${api}`] })

describe.skipIf(missingTools !== undefined)(`named pipes${missingTools ?? ''}`, { timeout: 180_000 }, () => {
  test('a backend follows a core over a pipe, in either way to write its name', async () => {
    await using running = await WindowsProcess.start(
      fairlead,
      core('npipe:////./pipe/ProtectedPrefix/Administrators/test'),
    )
    await running.says(/serving the KPNG API.*npipe:\/\/\/\/\.\/pipe\/ProtectedPrefix\/Administrators\/test/)
    const { exitCode, stdout } = await runOnWindows(
      fairlead,
      backend('\\\\.\\pipe\\ProtectedPrefix\\Administrators\\test'),
    )
    expect(stdout).toMatch(/^< reset\n\+ default\/database .*\n> sync\n$/s)
    expect(exitCode).toBe(0)
  })

  test('a backend waits for a core that is not there yet', async () => {
    const pipe = 'npipe:////./pipe/fairlead-late'
    await using waiting = await WindowsProcess.start(fairlead, backend(pipe))
    await waiting.says(/no contact with the KPNG server/)
    await using _core = await WindowsProcess.start(fairlead, core(pipe))
    expect(await waiting.ended()).toBe(0)
    expect(waiting.stdout).toContain('+ default/web ')
  })

  test('a second core with the same pipe is refused', async () => {
    const pipe = 'npipe:////./pipe/fairlead-taken'
    await using first = await WindowsProcess.start(fairlead, core(pipe))
    await first.says(/serving the KPNG API/)
    const { exitCode, stderr } = await runOnWindows(fairlead, core(pipe))
    expect(stderr).toContain(`Error: cannot listen on ${pipe}: another server uses it`)
    expect(exitCode).toBe(1)
  })

  test('a unix socket is refused with what to write instead', async () => {
    const { exitCode, stderr } = await runOnWindows(fairlead, core('unix:///run/fairlead.sock'))
    expect(stderr).toMatch(/Node\.js has no unix sockets on Windows, write npipe:\/\/\/\/\.\/pipe\/fairlead\n$/)
    expect(exitCode).toBe(1)
  })
})
