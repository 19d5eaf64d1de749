/** What Fairlead does to a node before it serves, and when it cannot. */
import { spawnSync } from 'node:child_process'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { Namespace } from '../../packet/testing/namespace.ts'

let node: Namespace
beforeEach(() => {
  node = Namespace.make()
})
afterEach(() => node[Symbol.dispose]())

test('a scheduler that the kernel does not have is named with its module, and nothing is changed', () => {
  const { status, stderr } = fairlead('--ipvs-scheduler=nosuch')
  expect(stderr).toContain("can't use the IPVS proxier")
  expect(stderr).toContain('modprobe ip_vs_nosuch')
  expect(status).toBe(1)
  expect(node.run('ipvsadm', ['-Sn'])).toBe('')
  expect(node.run('iptables-legacy-save', [])).not.toContain('KUBE-')
})

test('--init-only sets what needs the most rights, and makes nothing else', () => {
  const { status, stderr } = fairlead('--init-only', '--ipvs-strict-arp', '--ipvs-tcp-timeout=600s')
  expect(stderr).not.toContain('error')
  expect(status).toBe(0)
  const settings = [
    'net/ipv4/vs/conntrack',
    'net/ipv4/vs/expire_nodest_conn',
    'net/ipv4/vs/expire_quiescent_template',
    'net/ipv4/ip_forward',
    'net/ipv4/conf/all/arp_ignore',
    'net/ipv4/conf/all/arp_announce',
  ].map((name) => `/proc/sys/${name}`)
  expect(node.run('cat', settings)).toBe('1\n1\n1\n1\n1\n2\n')
  expect(node.run('ipvsadm', ['-L', '-n', '--timeout'])).toContain('600 120 300')
  expect(node.run('ip', ['-o', 'link'])).not.toContain('kube-ipvs0')
  expect(node.run('ipset', ['list', '-name'])).toBe('')
  expect(node.run('ipvsadm', ['-Sn'])).toBe('')
})

function fairlead(...flags: readonly string[]): { readonly status: number | null; readonly stderr: string } {
  const common = ['bin/fairlead.js', '--proxy-mode=ipvs', '--hostname-override=node1', '--objects=tests/goldens']
  const machine = ['--conntrack-max-per-core=0', '--conntrack-tcp-timeout-established=0s', '--oom-score-adj=0']
  const closeWait = '--conntrack-tcp-timeout-close-wait=0s'
  const args = [...common, ...machine, closeWait, ...flags]
  return node.enter(() => spawnSync(process.execPath, args, { encoding: 'utf8', timeout: 120_000 }))
}
