/** The systemd unit lets every mode do its work, and little else. */
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import { TemporaryFolder } from '../../src/sources/kube/testing/temporary-folder.ts'
import { missingForNamespace } from '../../src/dataplane/netlink/testing/network-namespace.ts'
import { root } from '../../tools/package/places.ts'
import { manifest, service, slice } from '../e2e/testing/objects.ts'
import { skipped } from '../packet/testing/proxies.ts'
import { cgroupProblem, TestCgroup } from '../packet/testing/test-cgroup.ts'
import { packageHere } from './testing/built-package.ts'
import { StartedProgram } from './testing/started-program.ts'

const unitFile = join(packageHere.tree, 'lib/systemd/system/fairlead.service')
const unit = readFileSync(unitFile, 'utf8')
const installPage = readFileSync(join(root, 'docs/install.md'), 'utf8')
/** It adds to what the unit says. */
const ebpfDropIn = /^- The ebpf mode needs more.*\n+ +```ini\n([^`]+)/m.exec(installPage)?.[1] ?? ''

/** Of the unit, and of the drop-in where the mode needs one. */
function setting(name: string, mode?: 'ebpf'): readonly string[] {
  const texts = mode === undefined ? [unit] : [unit, ebpfDropIn]
  return texts.flatMap((text) => new RegExp(`^ *${name}=(.*)$`, 'm').exec(text)?.[1]?.split(' ') ?? [])
}

const hasAnalyze = spawnSync('systemd-analyze', ['--version']).status === 0
const analyze = `systemd-analyze${hasAnalyze ? '' : ' (not installed)'}`

test.skipIf(!hasAnalyze)(`${analyze} finds little exposed, and docs/install.md says how little`, () => {
  const { stdout } = spawnSync('systemd-analyze', ['security', '--offline=true', unitFile], { encoding: 'utf8' })
  const exposure = /exposure level for fairlead\.service: ([\d.]+)/.exec(stdout)?.[1]
  expect(Number(exposure)).toBeLessThan(2.6)
  expect(installPage).toContain(`exposure of ${exposure}`)
})

test('its capabilities are those that docs/security.md lists for the modes on Linux', () => {
  const page = readFileSync(join(root, 'docs/security.md'), 'utf8')
  const rows = page.split('\n').filter((line) => /^\| (?:`(?:nftables|iptables|ipvs|userspace)`|… with)/.test(line))
  expect(rows.length).toBeGreaterThan(5)
  const listed = new Set(rows.flatMap((row) => row.match(/CAP_\w+/g) ?? []))
  expect(new Set(setting('CapabilityBoundingSet'))).toEqual(listed)
})

test('with the drop-in of docs/install.md, they are also those of the ebpf mode', () => {
  const page = readFileSync(join(root, 'docs/security.md'), 'utf8')
  const listed = /^\| `ebpf` +\|(.*)\|$/m.exec(page)?.[1]?.match(/CAP_\w+/g) ?? []
  expect(listed).toContain('CAP_BPF')
  expect(setting('CapabilityBoundingSet', 'ebpf')).toEqual(expect.arrayContaining(listed))
})

const missing = missingForNamespace('strace', 'setpriv', 'ip', 'nft', 'iptables') ?? (hasAnalyze ? undefined : analyze)

describe.skipIf(missing !== undefined)(
  `with what the unit leaves${missing === undefined ? '' : ` (${missing})`}`,
  () => {
    for (const [mode, ...flags] of [
      ['nftables'],
      ['ebpf'],
      ['iptables'],
      ['userspace', '--userspace-engine=native'],
      ['userspace', '--userspace-engine=node', '--userspace-workers=2'],
    ] as const) {
      const problem = mode === 'ebpf' ? cgroupProblem() : undefined
      test.skipIf(problem !== undefined)(`${[mode, ...flags].join(' ')} does its work${skipped(problem)}`, async () => {
        await using folder = await TemporaryFolder.make()
        const trace = await folder.write('trace', '')
        const objects = manifest(
          service('web', 80, { clusterIP: '10.96.0.10' }),
          slice('web', 8080, { addresses: ['192.0.2.20'] }),
        )
        await using cgroup = mode === 'ebpf' ? new TestCgroup() : undefined
        const withDropIn = mode === 'ebpf' ? mode : undefined
        const capabilities = setting('CapabilityBoundingSet', withDropIn).map((name) =>
          name.replace('CAP_', '+').toLowerCase(),
        )
        const place = cgroup === undefined ? [] : [`--ebpf-cgroup=${cgroup.path}`]
        const modeFlags = [`--proxy-mode=${mode}`, ...flags, ...place]
        const program = [packageHere.executable, ...modeFlags, '--objects=-', ...daemonFlags]
        const namespaces = ['--net', '--mount', '--propagation', 'private', asTheUnit, capabilities.join(','), trace]
        const start = () => new StartedProgram('unshare', [...namespaces, ...program], objects)
        await using daemon = cgroup?.enter(start) ?? start()
        await daemon.says(/"synced" family="ipv4"/)
        daemon.sendToLeaf('SIGTERM')
        expect(await daemon.ended()).toBe(0)
        expect(daemon.output).not.toMatch(/^E\d{4} |EPERM|EACCES|EROFS|not permitted|denied|read-only/im)
        // Programs at its cgroup that do nothing for it are no reason to end, since that one was named.
        expect(daemon.output).not.toContain('what Fairlead itself connects to is left')

        const calls = readFileSync(trace, 'utf8')
        const names = new Set([...calls.matchAll(/^\d+ +(\w+)\(/gm)].map(([, name = '']) => name))
        expect(names.size).toBeGreaterThan(30)
        const allowed = allowedCalls(withDropIn)
        expect([...names].filter((name) => !allowed.has(name))).toEqual([])
        const families = new Set([...calls.matchAll(/ socket\((AF_\w+)/g)].map(([, name = '']) => name))
        expect([...families].filter((name) => !setting('RestrictAddressFamilies').includes(name))).toEqual([])
        // RestrictNamespaces.
        expect(calls).not.toMatch(/CLONE_NEW/)
      })
    }
  },
)

const asTheUnit = fileURLToPath(new URL('testing/as-the-unit.sh', import.meta.url))

/** Nothing of the machine is changed, and nothing that only systemd can give is asked for. */
const daemonFlags = [
  '-v=2',
  '--hostname-override=node1',
  '--bind-address=192.0.2.10',
  '--oom-score-adj=0',
  '--conntrack-max-per-core=0',
  '--conntrack-tcp-timeout-established=0s',
  '--conntrack-tcp-timeout-close-wait=0s',
]

/** Groups such as @system-service are spelled out by systemd itself. */
function allowedCalls(mode?: 'ebpf'): ReadonlySet<string> {
  const names = new Set<string>()
  for (const queue = [...setting('SystemCallFilter', mode)]; queue.length > 0;) {
    const name = queue.shift() ?? ''
    if (!name.startsWith('@')) names.add(name)
    else queue.push(...membersOf(name))
  }
  return names
}

function membersOf(group: string): readonly string[] {
  const { stdout } = spawnSync('systemd-analyze', ['syscall-filter', group], { encoding: 'utf8' })
  return stdout
    .split('\n')
    .slice(1)
    .map((line) => line.trim())
    .filter((line) => line !== '' && !line.startsWith('#'))
}
