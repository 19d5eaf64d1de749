/** `npm pack`, then `npm install -g` of what it made: Fairlead for machines that have Node.js. */
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { readObject } from '../../src/dataplane/ebpf/read-object.ts'
import { TemporaryFolder } from '../../src/sources/kube/testing/temporary-folder.ts'
import { root } from '../../tools/package/places.ts'
import { freePorts } from '../cluster/testing/free-ports.ts'
import { eventually } from '../e2e/testing/eventually.ts'
import { version } from './testing/built-package.ts'
import { completeConsole, consoleParts } from './testing/console.ts'

test('the npm package is built as it is packed, and runs where it is installed', async () => {
  await using folder = await TemporaryFolder.make()
  const { path } = folder
  npm(root, 'pack', '--ignore-scripts=false', '--silent', `--pack-destination=${path}`)
  npm(
    path,
    'install',
    '--global',
    '--silent',
    '--ignore-scripts',
    `--prefix=${path}/prefix`,
    join(path, `fairlead-${version}.tgz`),
  )

  const fairlead = (...args: readonly string[]) =>
    spawnSync(process.execPath, [join(path, 'prefix/bin/fairlead'), ...args], { encoding: 'utf8', input: '' })
  expect(fairlead('--version').stdout).toContain(`(Fairlead ${version})`)
  const objects = join(root, 'examples/manifests/on-a-node.yaml')
  const rendered = fairlead('render', '--proxy-mode=nftables', `--objects=${objects}`, '--node-name=node1')
  expect([rendered.status, rendered.stdout]).toEqual([0, expect.stringContaining('add map ip fairlead services')])

  const { port, health, metrics } = await freePorts('port', 'health', 'metrics')
  const daemon = spawn(process.execPath, [
    join(path, 'prefix/bin/fairlead'),
    '--proxy-mode=userspace',
    `--objects=${join(root, 'examples/manifests/on-this-machine.yaml')}`,
    '--node-address=127.0.0.1',
    '--debug-socket=none',
    `--healthz-bind-address=127.0.0.1:${health}`,
    `--metrics-bind-address=127.0.0.1:${metrics}`,
    `--console-bind-address=127.0.0.1:${port}`,
  ])
  try {
    expect(await eventually(() => consoleParts(`http://127.0.0.1:${port}`))).toEqual(completeConsole)
  } finally {
    daemon.kill()
    await once(daemon, 'close')
  }

  // For both processors, chosen when it runs.
  const dist = join(path, 'prefix/lib/node_modules/fairlead/dist')
  for (const [processor, machine] of [
    ['x64', 0x3e],
    ['arm64', 0xb7],
  ] as const) {
    const relay = await readFile(join(dist, `native/linux-${processor}/fairlead-relay`))
    expect(relay.readUInt16LE(18)).toBe(machine)
  }
  const { programs } = readObject(await readFile(join(dist, 'native/fairlead.bpf.o')))
  expect(programs.map(({ name }) => name)).toContain('fl_connect4')
}, 600_000)

function npm(cwd: string, ...args: readonly string[]): void {
  const { status, stderr } = spawnSync('npm', args, { cwd, encoding: 'utf8' })
  expect([status, status === 0 ? '' : stderr]).toEqual([0, ''])
}
