/** The image for arm64 on a machine of another kind: QEMU stands in for the processor, and not for netfilter. */
import { execFile } from 'node:child_process'
import { cp } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { makeRoots } from '../../tools/image/make-image.ts'
import { readPinnedPackages } from '../../tools/image/pinned-packages.ts'
import { cache } from '../../tools/image/places.ts'
import { readProduct } from '../../tools/image/product.ts'
import { TemporaryFolder } from '../../src/sources/kube/testing/temporary-folder.ts'
import { missingPrograms } from '../packet/testing/iptables-variant.ts'
import { namespaceProblem } from '../packet/testing/namespace.ts'
import { describeUnless } from '../packet/testing/proxies.ts'
import { builtPackage } from './testing/built-package.ts'
import { makingProblem } from './testing/image-fixture.ts'

const run = promisify(execFile)
const emulator = 'qemu-aarch64-static'

describeUnless(namespaceProblem() ?? makingProblem() ?? missingPrograms(emulator), 'the image for arm64', () => {
  let folder: TemporaryFolder
  let root: string
  beforeAll(async () => {
    folder = await TemporaryFolder.make()
    const product = await readProduct()
    const { tree: packageTree } = builtPackage('arm64')
    await makeRoots({ arch: 'arm64', product, pinned: await readPinnedPackages(), packageTree, cache }, folder.path)
    root = join(folder.path, 'tools')
    await cp(join(folder.path, 'fairlead'), root, { recursive: true, verbatimSymlinks: true })
    await cp(join('/usr/bin', emulator), join(root, emulator))
  })
  afterAll(() => folder?.[Symbol.asyncDispose]())

  test('runs Fairlead', async () => {
    expect(await inImage('/usr/bin/fairlead', '--version')).toMatch(/^Kubernetes v.* \(Fairlead \d/)
  })

  test.each([
    ['/usr/sbin/iptables-legacy', /^iptables v.*\(legacy\)/],
    ['/usr/sbin/modprobe', /^kmod version/],
    ['/usr/sbin/ipset', /ipset v7/],
    // All their libraries are there: what they lack comes after them.
    ['/usr/sbin/nft', /Unable to initialize Netlink socket|^nftables v/],
    ['/usr/sbin/iptables-nft', /Failed to initialize nft: Protocol not supported|^iptables v.*nf_tables/],
  ])('runs %s', async (program, answer) => {
    expect(await inImage(program, '--version')).toMatch(answer)
  })

  async function inImage(...command: readonly string[]): Promise<string> {
    const { stdout, stderr } = await run('chroot', [root, `/${emulator}`, ...command]).catch(
      (error: { stdout: string; stderr: string }) => error,
    )
    return stdout + stderr
  }
})
