/** What no namespace can show: each check over evidence that was written down. The rest is in tests/doctor. */
import { describe, expect, test } from 'vitest'
import type { Check } from '../check.ts'
import type { Evidence } from '../evidence.ts'
import type { DaemonFacts } from '../evidence/daemon.ts'
import type { SettingFacts } from '../evidence/settings.ts'
import type { Setup } from '../setup.ts'
import { setupWith } from '../testing/setup.ts'
import { api, clock } from './api.ts'
import { capabilitiesLegacy } from './capabilities-legacy.ts'
import { capabilities } from './capabilities.ts'
import { conntrack } from './conntrack.ts'
import { daemon } from './daemon.ts'
import { forwarding } from './forwarding.ts'
import { iptablesVariants } from './iptables-variants.ts'
import { ipvsSettings } from './ipvs-settings.ts'
import { kernelIptables } from './kernel-iptables.ts'
import { features } from '../../../dataplane/ebpf/probes.ts'
import { kernelEbpf } from './kernel-ebpf.ts'
import { kernelIpvs } from './kernel-ipvs.ts'
import { leftovers } from './leftovers.ts'
import { limits } from './limits.ts'
import { nodeObject } from './node-object.ts'
import { ruleChanges } from './rule-changes.ts'
import { selinux } from './selinux.ts'
import { tools } from './tools.ts'
import { administrator, windows } from './windows.ts'

interface Case {
  readonly name: string
  readonly check: Check
  readonly flags?: readonly string[]
  readonly setup?: Partial<Setup>
  readonly evidence: unknown
  /** Names, each with a part of its evidence. */
  readonly finds: readonly (readonly [name: string, evidence: string])[]
}

const runs: DaemonFacts = {
  kind: 'runs',
  address: 'http://127.0.0.1:10256',
  isHealthy: true,
  health: { lastUpdated: '2026-01-01T00:00:00Z', currentTime: '2026-01-01T00:00:00Z', healthy: true },
  detail: { state: 'live' },
  metrics: new Map(),
  drift: undefined,
}
const settings = (values: Readonly<Record<string, string>>, more: Partial<SettingFacts> = {}): SettingFacts => ({
  value: (path) => values[path],
  number: (path) => (values[path] === undefined ? undefined : Number(values[path])),
  interfaces: [],
  hasGlobalIpv6: false,
  isReadOnly: false,
  conntrackStats: undefined,
  ...more,
})
const table = { 'net/netfilter/nf_conntrack_count': '1', 'net/netfilter/nf_conntrack_max': '1000' }
const noConntrack = [
  '--conntrack-max-per-core=0',
  '--conntrack-tcp-timeout-established=0',
  '--conntrack-tcp-timeout-close-wait=0',
]
const process = (pid: number, args: readonly string[], parentPid = 1) => ({
  pid,
  args,
  parentPid,
  isTrusted: true,
  sockets: new Set<string>(),
})
const right = { group: '', resource: 'services', verb: 'list', isOptional: false, isAllowed: true, reason: '' }
const asked = {
  kind: 'asked',
  server: 'https://api',
  dns: undefined,
  failure: undefined,
  clock: undefined,
  rights: [],
  rightsProblem: undefined,
}
const empty = { rules: new Map(), summaries: new Map(), remarks: [] }

const denied = { denied: [{ path: '/run/xtables.lock', problem: 'EACCES' }] }

const cases: readonly Case[] = [
  { name: 'a daemon that is fine', check: daemon, evidence: { daemon: runs }, finds: [] },
  {
    name: 'a daemon that is not healthy',
    check: daemon,
    evidence: { daemon: { ...runs, isHealthy: false } },
    finds: [['daemon-unhealthy', 'lastUpdated 2026-01-01']],
  },
  {
    name: 'a daemon that works from saved state',
    check: daemon,
    evidence: { daemon: { ...runs, detail: { state: 'saved', savedAt: '2026-01-01' } } },
    finds: [['daemon-not-live', 'state: saved, saved at 2026-01-01']],
  },
  {
    name: 'a daemon that has not heard of the API server',
    check: daemon,
    evidence: {
      daemon: { ...runs, metrics: new Map([['fairlead_source_last_contact_seconds{kind="Service"}', 1000]]) },
    },
    finds: [['api-contact-lost', '{kind="Service"} 1000']],
  },
  {
    name: 'drift',
    check: daemon,
    evidence: { daemon: { ...runs, drift: ['table ip fairlead was deleted by nft'] } },
    finds: [['drift-found', 'deleted by nft']],
  },
  {
    name: 'a daemon that hangs',
    check: daemon,
    evidence: {
      daemon: { kind: 'silent', address: 'http://127.0.0.1:10256', reason: 'no answer in 15 s', isSlow: true },
    },
    finds: [['daemon-not-answering', 'no answer in 15 s']],
  },
  {
    name: 'a stranger on the health port',
    check: daemon,
    evidence: { daemon: { kind: 'stranger', address: 'http://127.0.0.1:10256', answer: 'HTTP 200: {}' } },
    finds: [['daemon-not-running', 'HTTP 200']],
  },
  { name: 'a health port that is turned off', check: daemon, evidence: { daemon: { kind: 'not-asked' } }, finds: [] },
  {
    name: 'conntrack that drops',
    check: conntrack,
    flags: noConntrack,
    evidence: {
      daemon: runs,
      settings: settings(table, { conntrackStats: { drop: 16, early_drop: 1, insert_failed: 3 } }),
    },
    finds: [
      ['conntrack-drops', 'drop 16, early_drop 1'],
      ['conntrack-insert-failed', 'insert_failed 3'],
    ],
  },
  {
    name: 'a conntrack table that shrank',
    check: conntrack,
    flags: noConntrack.slice(1),
    evidence: { daemon: runs, settings: settings(table) },
    finds: [['conntrack-setting-differs', 'nf_conntrack_max = 1000, configured: 131072']],
  },
  {
    name: 'the same before the start, where it can still be written',
    check: conntrack,
    flags: noConntrack.slice(1),
    setup: { isBeforeStart: true },
    evidence: { daemon: runs, settings: settings(table) },
    finds: [],
  },
  {
    name: 'a full conntrack table before the start, which is no reason to have no proxy',
    check: conntrack,
    flags: noConntrack,
    setup: { isBeforeStart: true },
    evidence: { daemon: runs, settings: settings({ ...table, 'net/netfilter/nf_conntrack_count': '990' }) },
    finds: [['conntrack-filling', '990 of 1000 entries (99 %)']],
  },
  {
    name: 'IPv6 that is not forwarded before the start, when no pod may have asked for it yet',
    check: forwarding,
    setup: { isBeforeStart: true },
    evidence: { settings: settings({ 'net/ipv6/conf/all/forwarding': '0' }, { hasGlobalIpv6: true }) },
    finds: [],
  },
  {
    name: 'IPv6 that is not forwarded',
    check: forwarding,
    evidence: { settings: settings({ 'net/ipv6/conf/all/forwarding': '0' }, { hasGlobalIpv6: true }) },
    finds: [['ipv6-forward-off', 'net.ipv6.conf.all.forwarding = 0']],
  },
  {
    name: 'ipvs settings that somebody changed',
    check: ipvsSettings,
    flags: ['--proxy-mode=ipvs', '--ipvs-strict-arp'],
    evidence: {
      daemon: runs,
      settings: settings({
        'net/ipv4/vs/conntrack': '0',
        'net/ipv4/vs/expire_nodest_conn': '1',
        'net/ipv4/vs/expire_quiescent_template': '1',
        'net/ipv4/conf/all/arp_ignore': '1',
      }),
    },
    finds: [
      ['ipvs-setting-differs', 'net.ipv4.vs.conntrack = 0'],
      ['ipvs-setting-differs', 'arp_announce = not there, needed: 2'],
    ],
  },
  {
    name: 'a kernel that lacks what the ebpf mode needs, and what it can do without',
    check: kernelEbpf,
    flags: ['--proxy-mode=ebpf'],
    evidence: {
      ebpf: {
        obstacles: [],
        answers: features.map((feature) => ({
          feature,
          answer: feature.name === 'links' || feature.name === 'refusals' ? 'no' : 'yes',
          why: `no ${feature.name}`,
        })),
      },
    },
    finds: [
      ['ebpf-unusable', 'no links'],
      ['ebpf-feature-missing', 'no refusals'],
      ['ebpf-features', 'no           links, which keep a program at its place (Linux 5.7)\nyes          all of'],
    ],
  },
  {
    name: 'a process that may not ask what the kernel has for the ebpf mode',
    check: kernelEbpf,
    flags: ['--proxy-mode=ebpf'],
    evidence: {
      ebpf: {
        obstacles: [],
        answers: features.map((feature) => ({
          feature,
          answer: feature.isNeeded ? 'not allowed' : 'yes',
          why: feature.isNeeded ? `give the container CAP_BPF: ${feature.name}` : '',
        })),
      },
    },
    finds: [
      ['ebpf-unusable', 'give the container CAP_BPF: hooks'],
      ['ebpf-features', 'not allowed  links, which keep a program at its place (Linux 5.7)'],
    ],
  },
  {
    name: 'a kernel that could not be asked what it has for the ebpf mode',
    check: kernelEbpf,
    flags: ['--proxy-mode=ebpf'],
    evidence: {
      ebpf: {
        obstacles: [],
        answers: features.map((feature) => ({
          feature,
          answer: feature.name === 'programs' || feature.name === 'iterator' ? 'failed' : 'yes',
          why: `ENOMEM: ${feature.name}`,
        })),
      },
    },
    finds: [
      ['ebpf-unusable', 'ENOMEM: programs'],
      ['ebpf-feature-missing', 'ENOMEM: iterator'],
      ['ebpf-features', "failed       all of Fairlead's programs (Linux 5.12)"],
    ],
  },
  {
    name: 'a machine without the places of the ebpf mode',
    check: kernelEbpf,
    flags: ['--proxy-mode=ebpf'],
    evidence: { ebpf: { obstacles: ['no cgroup v2', 'no BPF file system'], answers: [] } },
    finds: [['ebpf-unusable', 'no cgroup v2\nno BPF file system']],
  },
  {
    name: 'ipvs without its scheduler and without ipset',
    check: kernelIpvs,
    flags: ['--proxy-mode=ipvs', '--ipvs-scheduler=mh'],
    evidence: { ipvs: { obstacle: undefined, ipsetObstacle: 'no ipset', schedulers: new Set(['rr']) } },
    finds: [
      ['ipset-unusable', 'no ipset'],
      ['ipvs-scheduler-unproven', 'ip_vs_mh'],
    ],
  },
  {
    name: 'a kernel without accounting',
    check: kernelIptables,
    evidence: {
      iptables: { variant: 'legacy', obstacles: [], missing: [], missingForClients: [], hasNfacct: false, looks: [] },
    },
    finds: [['nfacct-missing', 'nfnetlink_acct']],
  },
  ...(['auto', 'node'] as const).map((clientAddress): Case => ({
    name: `a kernel without xt_socket, where pods see ${clientAddress === 'auto' ? 'clients' : 'the node anyway'}`,
    check: kernelIptables,
    flags: ['--proxy-mode=userspace'],
    setup: { clientAddress },
    evidence: {
      iptables: {
        variant: 'nft',
        obstacles: [],
        missing: [],
        missingForClients: [{ tool: 'iptables-nft', extension: 'socket', reason: 'no match socket' }],
        hasNfacct: true,
        looks: [],
      },
    },
    finds: clientAddress === 'auto' ? [['client-address-lost', 'no match socket']] : [],
  })),
  {
    name: 'legacy tables without a tool',
    check: iptablesVariants,
    evidence: {
      iptables: {
        looks: [{ family: 'ipv4', variant: 'legacy', tool: undefined, unseenTables: ['nat'], saved: empty }],
      },
    },
    finds: [['iptables-tables-unreadable', 'nat']],
  },
  {
    name: 'tools that are missing or broken',
    check: tools,
    flags: ['--proxy-mode=ipvs'],
    evidence: {
      tools: new Map([
        ['iptables', { kind: 'missing' }],
        ['ipset', { kind: 'broken', reason: 'killed by SIGSEGV' }],
        ['ipvsadm', { kind: 'missing' }],
      ]),
    },
    finds: [
      ['tool-missing', '"iptables"'],
      ['tool-broken', 'SIGSEGV'],
    ],
  },
  {
    name: 'an iptables whose rules older ones cannot read',
    check: tools,
    evidence: {
      tools: new Map([['iptables-nft', { kind: 'found', text: 'iptables v1.8.8 (nf_tables)', version: '1.8.8' }]]),
    },
    finds: [['tool-known-bad', '1.8.8']],
  },
  {
    name: 'no capability at all, for ipvs',
    check: capabilities,
    flags: ['--proxy-mode=ipvs'],
    evidence: { capabilities: 0n, daemon: { kind: 'silent' } },
    finds: [
      ['capability-missing', 'CapEff: 0000000000000000'],
      ['capability-missing', 'CapEff'],
    ],
  },
  {
    name: 'no capability, but a daemon that runs',
    check: capabilities,
    evidence: { capabilities: 0n, daemon: runs },
    finds: [],
  },
  {
    name: 'iptables-legacy without CAP_NET_RAW',
    check: capabilitiesLegacy,
    setup: { isBeforeStart: true },
    evidence: { capabilities: 1n << 12n, daemon: runs, iptables: { variant: 'legacy' } },
    finds: [['capability-missing-for-legacy', 'variant legacy']],
  },
  {
    name: 'a control group that is nearly full',
    check: limits,
    evidence: {
      limits: {
        of: 'this process',
        openFiles: 4096,
        memory: { path: 'memory.max', used: 99e6, limit: 100e6 },
        processes: { path: 'pids.max', used: 95, limit: 100 },
      },
    },
    finds: [
      ['memory-limit-low', '95 MiB'],
      ['memory-nearly-full', '94 of 95 MiB'],
      ['processes-nearly-full', '95 of 100'],
    ],
  },
  {
    name: 'few files, in userspace mode',
    check: limits,
    flags: ['--proxy-mode=userspace'],
    evidence: { limits: { of: 'this process', openFiles: 4096, memory: undefined, processes: undefined } },
    finds: [['open-files-low', '4096']],
  },
  {
    name: 'a container that SELinux confines',
    check: selinux,
    evidence: { confinement: { ...denied, seLinuxContext: 'system_u:system_r:container_t:s0:c1,c2' } },
    finds: [['selinux-denies', 'EACCES, as system_u:system_r:container_t:s0:c1,c2']],
  },
  {
    name: 'a process that SELinux does not confine, where the rights of a file deny it',
    check: selinux,
    evidence: { confinement: { ...denied, seLinuxContext: 'system_u:system_r:spc_t:s0' } },
    finds: [],
  },
  {
    name: 'a process that is denied a file, on a node without SELinux',
    check: selinux,
    evidence: { confinement: { ...denied, seLinuxContext: undefined } },
    finds: [],
  },
  {
    name: 'leftovers that cannot go',
    check: leftovers,
    evidence: {
      daemon: runs,
      leftovers: { leftovers: [{ what: 'x', reason: 'y', modes: ['iptables'] }], problems: ['nft is missing'] },
    },
    finds: [['leftovers-stuck', 'nft is missing']],
  },
  {
    name: 'a program that changes rules',
    check: ruleChanges,
    flags: ['--proxy-mode=nftables'],
    evidence: {
      ruleChanges: [
        { process: 'nft (process 7)', pid: 7, count: 3 },
        { process: 'node (process 9)', pid: 9, count: 1 },
      ],
      processes: { all: [process(9, ['node'], 8)], fairleads: [process(8, ['fairlead'])], kubeProxies: [] },
    },
    finds: [['rules-changing', 'nft (process 7): 3 times']],
  },
  {
    name: 'iptables of the daemon that are gone',
    check: ruleChanges,
    evidence: {
      ruleChanges: [{ process: 'iptables-nft-re (process 7)', pid: 7, count: 3 }],
      processes: { all: [], fairleads: [process(8, ['fairlead'])], kubeProxies: [] },
    },
    finds: [],
  },
  {
    name: 'a Node that is not there',
    check: nodeObject,
    evidence: { cluster: { node: undefined, localAddresses: [] } },
    finds: [['node-unknown', 'no Node named node-a']],
  },
  {
    name: 'a Node of another machine',
    check: nodeObject,
    evidence: { cluster: { node: { ips: ['192.0.2.1'] }, localAddresses: ['127.0.0.1', '192.0.2.2'] } },
    finds: [['node-address-elsewhere', 'Node: 192.0.2.1; machine: 192.0.2.2']],
  },
  { name: 'an API server that allows all', check: api, evidence: { api: { ...asked, rights: [right] } }, finds: [] },
  {
    name: 'an API server that allows nothing',
    check: api,
    evidence: {
      api: {
        ...asked,
        rights: [
          { ...right, isAllowed: false, reason: 'no RBAC' },
          { ...right, group: 'events.k8s.io', resource: 'events', verb: 'create', isOptional: true, isAllowed: false },
        ],
      },
    },
    finds: [
      ['api-right-missing', 'list services: not allowed, no RBAC'],
      ['api-right-missing-optional', 'create events.events.k8s.io'],
    ],
  },
  ...(
    [
      ['unauthorized', 'api-credentials-refused'],
      ['untrusted', 'api-untrusted'],
      ['timeout', 'api-unreachable'],
    ] as const
  ).map(([reason, name]): Case => ({
    name: `an API server that fails with ${reason}`,
    check: api,
    evidence: { api: { ...asked, failure: { reason, message: `because ${reason}` } } },
    finds: [[name, `because ${reason}`]],
  })),
  {
    name: 'an API server that is found slowly, and keeps our rights to itself',
    check: api,
    evidence: {
      api: {
        ...asked,
        dns: { name: 'api', addresses: ['192.0.2.1'], problem: undefined, tookMs: 5000 },
        rightsProblem: '403',
      },
    },
    finds: [
      ['api-name-slow', '5000 ms'],
      ['api-rights-unknown', '403'],
    ],
  },
  {
    name: 'a clock that is right',
    check: clock,
    evidence: { api: { ...asked, clock: { serverMs: 0, ownMs: 20_000, tookMs: 1 } } },
    finds: [],
  },
  {
    name: 'a clock that is behind',
    check: clock,
    evidence: { api: { ...asked, clock: { serverMs: 100_000, ownMs: 0, tookMs: 1 } } },
    finds: [['clock-off', 'API server 1970-01-01T00:01:40']],
  },
  {
    name: 'HNS that does not answer',
    check: windows,
    setup: { platform: 'win32' },
    evidence: { hns: { kind: 'fails', reason: 'Access is denied', fix: 'run as Administrator' } },
    finds: [['hns-unusable', 'Access is denied']],
  },
  {
    name: 'HNS that is old',
    check: windows,
    flags: ['--enable-dsr', '--feature-gates=WinDSR=true'],
    setup: { platform: 'win32' },
    evidence: { hns: { kind: 'answers', version: '9.1', hasV2: false, hasDsr: false, network: undefined } },
    finds: [
      ['hns-too-old', '9.1'],
      ['hns-no-dsr', '9.1'],
      ['hns-network-missing', 'no --network-name'],
    ],
  },
  {
    name: 'a user who may change nothing on Windows',
    check: administrator,
    setup: { platform: 'win32', isRoot: false, isBeforeStart: true },
    evidence: {},
    finds: [['not-administrator', 'System32']],
  },
]

describe('the doctor about', () => {
  test.each(cases)('$name', async ({ check, flags = [], setup: change = {}, evidence, finds }) => {
    const setup = await setupWith(flags, change)
    expect(check.systems).toContain(setup.platform)
    expect(check.concerns(setup)).toBe(true)
    const found = check.run(setup, evidence as Evidence)
    expect(found.map(({ name }) => name)).toEqual(finds.map(([name]) => name))
    for (const [index, [, part]] of finds.entries()) expect(found[index]?.evidence).toContain(part)
  })
})
