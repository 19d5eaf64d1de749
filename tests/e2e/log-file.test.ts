import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { TemporaryFolder } from '../../src/sources/kube/testing/temporary-folder.ts'
import { DaemonProcess } from './testing/daemon-process.ts'
import { runFairlead } from './testing/fairlead-process.ts'
import { manifest, service, slice } from './testing/objects.ts'

const objects = manifest(service('web', 80, { clusterIP: '10.96.0.10' }), slice('web', 8080))

test.concurrent('--log-file takes the whole log of the daemon, in files of bounded size', async () => {
  await using folder = await TemporaryFolder.make()
  const path = join(folder.path, 'logs', 'fairlead.log')
  await using daemon = await DaemonProcess.startReading(
    objects,
    '--objects=-',
    '-v=4',
    `--log-file=${path}`,
    '--log-file-max-size=2Ki',
  )
  await daemon.isUp()
  daemon.process.send('SIGTERM')
  expect(await daemon.process.ended()).toEqual({ code: 0, signal: null })
  expect(await readFile(path, 'utf8')).toMatch(/"stopped"\n$/)
  expect((await readdir(join(folder.path, 'logs'))).sort().slice(0, 2)).toEqual(['fairlead.log', 'fairlead.log.1'])
  expect(daemon.process.stderr).toBe('')
})

test.concurrent('a mistake in the command line is still told on stderr', async () => {
  await using folder = await TemporaryFolder.make()
  const { code, stderr } = await runFairlead([`--log-file=${folder.path}/x.log`, '--proxy-mod=userspace'])
  expect(code).toBe(1)
  expect(stderr).toContain('did you mean --proxy-mode?')
})

test.concurrent('a log file that cannot be written is an error with the way out', async () => {
  const { code, stderr } = await runFairlead(['--log-file=/dev/null/x.log'])
  expect(code).toBe(1)
  expect(stderr).toMatch(
    /^Error: cannot write the log to \/dev\/null\/x\.log: .*; name another file with --log-file\n$/,
  )
})

test.concurrent("KPNG's commands have it too", async () => {
  await using folder = await TemporaryFolder.make()
  // Without a cluster IP: that it gets one is logged.
  await folder.write('web.yaml', manifest(service('web', 80), slice('web', 8080)))
  const path = join(folder.path, 'core.log')
  const flags = [`--input=${folder.path}/web.yaml`, '--node-name=node-a', '--once', `--log-file=${path}`]
  const { code, stdout, stderr } = await runFairlead(['file', 'to-local', ...flags])
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  expect(stdout).toContain('+ default/web ')
  expect(await readFile(path, 'utf8')).toContain('Service has no cluster IP in its manifest')
})
