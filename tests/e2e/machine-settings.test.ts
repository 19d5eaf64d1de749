/** What the daemon changes of the machine, and what it needs of it. */
import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import { enterFreshNamespace, missingForNamespace, run } from '../../src/dataplane/netlink/testing/network-namespace.ts'
import { runFairlead } from './testing/fairlead-process.ts'

const program = fileURLToPath(new URL('../../bin/fairlead.js', import.meta.url))
const objects = `--objects=${fileURLToPath(new URL('../goldens/cluster-ip/objects.json', import.meta.url))}`

const missing = missingForNamespace('ip')
const where = missing === undefined ? 'in a network namespace' : `in a network namespace (skipped: ${missing})`

describe.skipIf(missing !== undefined)(`the daemon ${where}`, () => {
  test('on loopback it leaves connection tracking as it is, and speaks of no node ports', async () => {
    enterFreshNamespace()
    const settings = () => run('grep . /proc/sys/net/netfilter/nf_conntrack_*timeout* || true')
    const before = settings()
    const args = ['--proxy-mode=userspace', '--init-only', '--bind-address=127.0.0.1', objects]
    const { code, stdout, stderr } = await runFairlead(args)
    expect(code).toBe(0)
    expect(settings()).toBe(before)
    expect(stdout + stderr).not.toMatch(/node ?ports?/i)
    expect(stdout + stderr).toContain('Services are served on loopback only')
  })

  test('in the default mode without iptables it names the program that is missing', () => {
    const withoutTools = ['--net', '--mount', 'sh', '-c', 'mount -t tmpfs none /usr/sbin && exec "$@"', 'sh']
    const args = [...withoutTools, process.execPath, program, objects]
    const { status, stdout, stderr } = spawnSync('unshare', args, { encoding: 'utf8' })
    expect({ status, stdout }).toEqual({ status: 1, stdout: '' })
    expect(stderr.replaceAll('\\', '')).toContain(
      'no support for primary IP family "ipv4" in mode iptables: ' +
        'there is no program "iptables": install it, or add its folder to PATH: Debian and Alpine call the package "iptables"; ' +
        'or choose another mode with --proxy-mode',
    )
  })
})
