/** The package for arm64, on a processor that is none: QEMU runs its programs. */
import { existsSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { root } from '../../tools/package/places.ts'
import { builtPackage, version } from './testing/built-package.ts'
import { run } from './testing/run.ts'

const qemu = '/usr/bin/qemu-aarch64-static'
const libraries = '/usr/aarch64-linux-gnu'
const { executable, tree } = builtPackage('arm64')
const missing = [
  [qemu, 'Debian package qemu-user-static'],
  [`${libraries}/lib/libstdc++.so.6`, 'Debian package gcc-aarch64-linux-gnu'],
  [executable, 'npm run package -- --arch=arm64'],
].find(([path = '']) => !existsSync(path))?.[1]

const emulated = (program: string, ...args: readonly string[]) => run(qemu, ['-L', libraries, program, ...args])

describe.skipIf(missing !== undefined)(
  `the package for arm64${missing === undefined ? '' : ` (needs ${missing})`}`,
  () => {
    test('says its version and its processor', () => {
      const { stdout } = emulated(executable, '--version=raw')
      expect(JSON.parse(stdout)).toMatchObject({ fairleadVersion: version, platform: 'linux/arm64' })
    })

    test('renders what a mode would program', () => {
      const objects = `${root}examples/manifests/on-a-node.yaml`
      const { status, stdout } = emulated(
        executable,
        'render',
        '--proxy-mode=nftables',
        `--objects=${objects}`,
        '--node-name=node1',
      )
      expect([status, stdout]).toEqual([0, expect.stringContaining('add map ip fairlead services')])
    })

    test('its native relay starts, and says that it is not for people', () => {
      const { status, stderr } = emulated(`${tree}/lib/fairlead/relay`)
      expect([status, stderr]).toEqual([2, expect.stringContaining('it is started by Fairlead')])
    })
  },
)
