/** What could be different in an executable: files beside the code, threads, and the names of the sources. */
import { copyFile, readFile, symlink } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { startHttpBackend } from '../../src/cli/demo/sample-backends.ts'
import { TemporaryFolder } from '../../src/sources/kube/testing/temporary-folder.ts'
import { freePorts } from '../cluster/testing/free-ports.ts'
import { get, whoAnswers } from '../e2e/testing/clients.ts'
import { DaemonProcess } from '../e2e/testing/daemon-process.ts'
import { eventually } from '../e2e/testing/eventually.ts'
import { runFairlead } from '../e2e/testing/fairlead-process.ts'
import { manifest, service, slice } from '../e2e/testing/objects.ts'
import { run } from './testing/run.ts'
import { packageHere, version } from './testing/built-package.ts'
import { completeConsole, consoleParts } from './testing/console.ts'

const { executable } = packageHere

for (const [engine, says] of [
  ['native', 'TCP connections are relayed by the native engine'],
  ['node', 'TCP connections are relayed by Node.js'],
] as const)
  test(`connections are carried by the ${engine} engine, with threads`, async () => {
    await using backend = await startHttpBackend('blue')
    const { port } = await freePorts('port')
    const objects = manifest(service('web', port, { clusterIP: '10.96.0.10' }), slice('web', backend.port))
    const flags = [`--userspace-engine=${engine}`, '--userspace-workers=2', '--objects=-', '--vmodule=open-relay=1']
    await using daemon = await DaemonProcess.startReading(objects, ...flags)
    await daemon.process.says(says)
    await eventually(async () => expect(await whoAnswers(`http://127.0.0.1:${port}`)).toBe('blue'))
    expect(daemon.process.stderr).not.toContain('relayed by the main thread')
    const threads = (await readFile(`/proc/${daemon.process.pid}/status`, 'utf8')).match(/^Threads:\s+(\d+)/m)?.[1]
    expect(Number(threads)).toBeGreaterThan(1)
  })

test('log lines and --vmodule know the source files, though all code is in one', async () => {
  const { port } = await freePorts('port')
  const objects = manifest(service('web', port, { clusterIP: '10.96.0.10' }))
  await using daemon = await DaemonProcess.startReading(objects, '--objects=-', '--vmodule=sync-runner=2')
  await daemon.process.says(/^I.* sync-runner\.ts:\d+\] "synced"/m)
  expect(daemon.process.stderr).toMatch(/^I.* daemon-command\.ts:\d+\] "starting Fairlead"/m)
})

test('to-module loads a module of the user, and a stack trace names the source files', async () => {
  await using folder = await TemporaryFolder.make()
  await folder.write('helper.mjs', `import { basename } from 'node:path'\nexport const name = basename('/a/mine')`)
  const module = await folder.write(
    'backend.mjs',
    `import { name } from './helper.mjs'
export default { name, sync: () => console.log(new Error(name + ' was called').stack) }`,
  )
  const objects = await folder.write('web.yaml', manifest(service('web', 80, { clusterIP: '10.96.0.10' })))
  const flags = [`--input=${objects}`, '--node-name=node1', '--once', '--', module]
  const { stdout } = await runFairlead(['file', 'to-module', ...flags])
  expect(stdout).toMatch(
    /^Error: mine was called\n    at \S+ \(file:.*backend\.mjs:2:\d+\)\n    at .*\bsrc\/kpng\/\S+\.ts:\d+/,
  )
})

test('it finds its files through a link', async () => {
  await using folder = await TemporaryFolder.make()
  const link = join(folder.path, 'fairlead')
  await symlink(executable, link)
  const flags = ['--userspace-engine=native', '--proxy-mode=userspace', '--objects=/missing']
  expect(run(link, ['--version']).stdout).toContain(`(Fairlead ${version})`)
  expect(run(link, flags).stderr).toContain('--objects=/missing cannot be read')
})

test('alone, without the folder beside it, it says what is missing, and goes on with what it has', async () => {
  await using folder = await TemporaryFolder.make()
  const alone = join(folder.path, 'fairlead')
  await copyFile(executable, alone)
  const { status, stderr } = run(alone, ['--proxy-mode=userspace', '--userspace-engine=native', '--objects=-'])
  expect([status, stderr]).toEqual([
    1,
    expect.stringMatching(
      /the native engine does not start: \S+\/lib\/fairlead\/relay does not exist: install the package/,
    ),
  ])
})

test('/debug, /metrics and health are served', async () => {
  await using daemon = await DaemonProcess.startReading(manifest(service('web', 80)), '--objects=-')
  await daemon.isUp()
  expect((await daemon.metrics('/metrics')).body).toContain('fairlead_')
  expect((await get(`http://127.0.0.1:${daemon.ports[1]}/configz`)).status).toBe(200)
})

test('the console is served, with what is in the executable', async () => {
  const { port } = await freePorts('port')
  const flags = ['--objects=-', `--console-bind-address=127.0.0.1:${port}`]
  await using daemon = await DaemonProcess.startReading(manifest(service('web', 80)), ...flags)
  await daemon.process.says('the console is served')
  expect(await consoleParts(`http://127.0.0.1:${port}`)).toEqual(completeConsole)
})
