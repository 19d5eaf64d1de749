import { spawnSync } from 'node:child_process'
import { copyFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import {
  addKubelet,
  commands,
  eachOnFreshNode,
  kernelState,
  neededPrograms,
  variants,
} from '../../src/cli/cleanup/testing/kernel.ts'
import { missingForNamespace, run } from '../../src/dataplane/netlink/testing/network-namespace.ts'
import { TemporaryFolder } from '../../src/sources/kube/testing/temporary-folder.ts'
import { eventually } from './testing/eventually.ts'
import { FairleadProcess, runFairlead } from './testing/fairlead-process.ts'

const missing = missingForNamespace(...neededPrograms)
const where = missing === undefined ? 'in a network namespace' : `in a network namespace (skipped: ${missing})`

describe.skipIf(missing !== undefined)(`the program ${where}`, () => {
  eachOnFreshNode()

  for (const variant of variants)
    test(`--cleanup removes what the daemon wrote with ${variant} iptables, and tells what it removes`, async () => {
      // The kubelet's chains tell the daemon which variant to use.
      addKubelet(variant)
      const before = kernelState()
      await runDaemonUntil(() => {
        for (const command of commands) expect(run(`${command}-${variant}-save`)).toContain(':KUBE-SVC-')
      })
      const dirty = kernelState()

      const dryRun = await runFairlead(['--cleanup', '--dry-run'])
      expect([dryRun.code, dryRun.stderr]).toEqual([0, ''])
      expect(dryRun.stdout).toMatch(/^would remove iptables-\w+ nat: chain KUBE-SERVICES with \d+ rules /m)
      expect(kernelState()).toBe(dirty)

      const cleanup = await runFairlead(['--cleanup'])
      expect([cleanup.code, cleanup.stderr]).toEqual([0, ''])
      expect(cleanup.stdout).toBe(dryRun.stdout.replaceAll('would remove', 'removed'))
      expect(kernelState()).toBe(before)
      expect(await runFairlead(['--cleanup'])).toMatchObject({ code: 0, stdout: 'Nothing to remove.\n' })
    })

  test('--cleanup ends well where there is nothing to remove', async () => {
    for (const args of [['--cleanup'], ['--cleanup', '--dry-run']])
      expect(await runFairlead(args)).toMatchObject({ code: 0, stdout: 'Nothing to remove.\n', stderr: '' })
  })

  test('--cleanup without the rights for it says so in one sentence', () => {
    const nobody = ['--reuid=65534', '--clear-groups', process.execPath, program, '--cleanup']
    const { status, stdout, stderr } = spawnSync('setpriv', nobody, { encoding: 'utf8' })
    expect({ status, stdout, stderr }).toEqual({
      status: 1,
      stdout: '',
      stderr:
        'Error: --cleanup changes kernel rules: run it as root, with CAP_NET_ADMIN and CAP_NET_RAW, ' +
        'which this process lacks\n',
    })
  })
})

const program = fileURLToPath(new URL('../../bin/fairlead.js', import.meta.url))
const goldens = fileURLToPath(new URL('../goldens', import.meta.url))

/** With Services of both families; ends it once the condition holds, as a node is drained before a clean-up. */
async function runDaemonUntil(condition: () => void): Promise<void> {
  await using folder = await TemporaryFolder.make()
  await copyFile(join(goldens, 'common.json'), join(folder.path, 'common.json'))
  await copyFile(join(goldens, 'dual-stack/objects.json'), join(folder.path, 'objects.json'))
  await using daemon = new FairleadProcess([...daemonFlags, `--objects=${folder.path}`])
  await eventually(condition)
  daemon.send('SIGTERM')
  expect(await daemon.ended()).toEqual({ code: 0, signal: null })
}

/** What belongs to the whole machine stays as it is. */
const daemonFlags = [
  '--proxy-mode=iptables',
  '--hostname-override=node1',
  '--oom-score-adj=0',
  '--conntrack-max-per-core=0',
  '--conntrack-tcp-timeout-established=0s',
  '--conntrack-tcp-timeout-close-wait=0s',
]
