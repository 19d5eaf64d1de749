/** What the backend says of one Service, on a kernel that has IPVS. */
import { expect, test } from 'vitest'
import { IpvsBackend } from '../../../src/backends/ipvs/ipvs-backend.ts'
import { systemClock } from '../../../src/core/clock.ts'
import { silentLogger } from '../../../src/core/logger.ts'
import { testEndpoint, testRoute, testView } from '../../../src/core/testing/routes.ts'
import { netlinkAddresses } from '../../../src/dataplane/addresses/netlink-addresses.ts'
import { processExec } from '../../../src/dataplane/exec/exec.ts'
import { commandIpset } from '../../../src/dataplane/ipset/command-ipset.ts'
import { findIptables } from '../../../src/dataplane/iptables/find-iptables.ts'
import { netlinkIpvs } from '../../../src/dataplane/ipvs/netlink-ipvs.ts'
import { procRealServerTable } from '../../../src/dataplane/ipvs/real-server-table.ts'
import { openNetlink } from '../../../src/dataplane/netlink/open-netlink.ts'
import { run } from '../../../src/dataplane/netlink/testing/network-namespace.ts'
import { freshNamespace } from './testing/fresh-namespace.ts'

const { signal } = new AbortController()
const endpoints = [testEndpoint('10.64.0.5', 8080, { isLocal: true }), testEndpoint('10.64.1.6', 8080)]
const web = testRoute('demo/web', { endpoints, nodePort: 30080, loadBalancerIPs: ['203.0.113.9'], sourceRanges: [] })
const other = testRoute('demo/other', { clusterIP: '10.96.0.11', endpoints, affinitySeconds: 60 })

async function backendHere(): Promise<IpvsBackend> {
  await freshNamespace()
  run('ip link add fl-veth0 type veth peer name fl-veth1 && ip address add 192.0.2.7/24 dev fl-veth0')
  const tools = { exec: processExec, clock: systemClock, log: silentLogger }
  return new IpvsBackend({
    kernel: {
      ipvs: netlinkIpvs({ open: openNetlink, readRealServerTable: procRealServerTable }),
      ipset: commandIpset(processExec),
      addresses: netlinkAddresses({ open: openNetlink }),
      iptables: await findIptables({ ...tools, family: 'ipv4', variant: 'legacy', signal }),
    },
    settings: () => ({
      family: 'ipv4',
      scheduler: 'rr',
      localTraffic: { kind: 'cidr', cidr: '10.64.0.0/10' },
      masqueradeAll: false,
      masqueradeMark: '0x00004000',
      nodePortAddresses: [],
      excludeCidrs: [],
    }),
    drift: undefined,
    metrics: { restoreFailed() {} },
    clock: systemClock,
    log: silentLogger,
  })
}

test('all is as planned, and what others do to one Service shows there', async () => {
  await using backend = await backendHere()
  const keys = [web.key, other.key]
  await backend.sync(testView(web, other), { full: true, keys, causes: [] }, signal)
  const wrong = async (key = web.key) =>
    (await backend.inspect(key, signal))?.pieces
      .filter(({ state }) => state !== 'as planned')
      .map(({ text, state, found }) => [state, text, ...(found === undefined ? [] : [found])].join(': '))
  expect([await wrong(), await wrong(other.key)]).toEqual([[], []])
  expect(await backend.compare(signal)).toEqual({ kind: 'as written' })

  run('ipvsadm -d -t 10.96.0.10:80 -r 10.64.1.6:8080')
  run('ipvsadm -e -t 10.96.0.10:80 -r 10.64.0.5:8080 -m -w 7')
  run('ipvsadm -a -t 10.96.0.10:80 -r 10.64.9.9:8080 -m -w 1')
  run('ipvsadm -E -t 192.0.2.7:30080 -s wlc')
  run('ipset del KUBE-CLUSTER-IP 10.96.0.10,tcp:80')
  run('ip address del 10.96.0.10/32 dev kube-ipvs0')
  expect(await wrong()).toEqual([
    'differs: -a -t 10.96.0.10:80 -r 10.64.0.5:8080 -m -w 1: -a -t 10.96.0.10:80 -r 10.64.0.5:8080 -m -w 7',
    'missing: -a -t 10.96.0.10:80 -r 10.64.1.6:8080 -m -w 1',
    'not planned: -a -t 10.96.0.10:80 -r 10.64.9.9:8080 -m -w 1',
    'differs: -A -t 192.0.2.7:30080 -s rr: -A -t 192.0.2.7:30080 -s wlc',
    'missing: address add 10.96.0.10/32 dev kube-ipvs0',
    'missing: add KUBE-CLUSTER-IP 10.96.0.10,tcp:80',
  ])
  expect(await wrong(other.key)).toEqual([])
  expect(await backend.compare(signal)).toMatchObject({ kind: 'differs' })

  run('ipvsadm -D -t 10.96.0.11:80')
  expect(await wrong(other.key)).toEqual([
    'missing: -A -t 10.96.0.11:80 -s rr -p 60',
    'missing: -a -t 10.96.0.11:80 -r 10.64.0.5:8080 -m -w 1',
    'missing: -a -t 10.96.0.11:80 -r 10.64.1.6:8080 -m -w 1',
  ])
})
