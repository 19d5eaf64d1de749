/** `npm pack`, then `npm install -g` of what it made: Fairlead for machines that have Node.js. */
import { spawnSync } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { TemporaryFolder } from '../../src/sources/kube/testing/temporary-folder.ts'
import { root } from '../../tools/package/places.ts'
import { version } from './testing/built-package.ts'

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

  // For both processors, chosen when it runs.
  const dist = join(path, 'prefix/lib/node_modules/fairlead/dist')
  for (const [processor, machine] of [
    ['x64', 0x3e],
    ['arm64', 0xb7],
  ] as const) {
    const relay = await readFile(join(dist, `native/linux-${processor}/fairlead-relay`))
    expect(relay.readUInt16LE(18)).toBe(machine)
  }
}, 600_000)

function npm(cwd: string, ...args: readonly string[]): void {
  const { status, stderr } = spawnSync('npm', args, { cwd, encoding: 'utf8' })
  expect([status, status === 0 ? '' : stderr]).toEqual([0, ''])
}
