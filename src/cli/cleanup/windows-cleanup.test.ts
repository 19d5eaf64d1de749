/** `--cleanup` on a Windows node in memory. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { systemClock } from '../../core/clock.ts'
import { silentLogger } from '../../core/logger.ts'
import { openOwnedObjects } from '../../dataplane/owned-objects/file-owned-objects.ts'
import { hresult } from '../../dataplane/hcn/hresult.ts'
import { MemoryDriver } from '../../dataplane/hcn/memory/memory-driver.ts'
import { MemoryHns } from '../../dataplane/hcn/memory/memory-hns.ts'
import { scriptedExec } from '../../dataplane/iptables/testing/scripted-exec.ts'
import { daemonCommand } from '../daemon/daemon-command.ts'
import { memoryHost, memoryProgram } from '../host/testing/memory-host.ts'

const never = new AbortController().signal
const ours = ['network pod-net', 'balancer ipv4 6 10.112.0.20 80', 'endpoint 10.61.2.7']

let stateDir: string
beforeEach(async () => {
  stateDir = await mkdtemp(join(tmpdir(), 'fairlead-cleanup-'))
})
afterEach(() => rm(stateDir, { recursive: true }))

/** With one load balancer and one remote endpoint of ours, and as many of somebody else, and a pod. */
async function windowsNode(owned: readonly string[] = ours) {
  const hns = new MemoryHns()
  const network = hns.putNetwork({ name: 'pod-net' })
  const endpoint = hns.putEndpoint(network, { ips: ['10.61.2.7'], isRemote: true })
  hns.putEndpoint(network, { ips: ['10.61.2.8'], isRemote: true })
  hns.putEndpoint(network, { ips: ['10.61.1.5'] })
  const rest = { sourceVip: undefined, protocol: 6, internalPort: 8080, externalPort: 80, isSticky: false }
  for (const vip of ['10.112.0.20', '10.112.0.21'])
    hns.putLoadBalancer({ ...rest, vip, endpoints: [endpoint], mappingFlags: 0, flags: 0 })
  const record = await openOwnedObjects({ path: join(stateDir, 'hns-objects'), log: silentLogger })
  await record.add(owned)
  const driver = new MemoryDriver(hns)
  let opened = 0
  const openHcn = () => {
    opened++
    return Promise.resolve(driver)
  }
  const program = memoryProgram(memoryHost({ platform: 'win32', openHcn }))
  const clean = (...flags: readonly string[]) =>
    daemonCommand(['--cleanup', `--state-dir=${stateDir}`, ...flags], program, never)
  const held = () => ({
    balancers: hns.loadBalancers.map(({ vip }) => vip),
    endpoints: hns.endpoints.flatMap(({ ips }) => ips),
  })
  return { driver, program, clean, held, opened: () => opened }
}

const everything = { balancers: ['10.112.0.20', '10.112.0.21'], endpoints: ['10.61.2.7', '10.61.2.8', '10.61.1.5'] }

test('lists with --dry-run what is ours, and removes nothing', async () => {
  const { program, clean, held } = await windowsNode()
  expect(await clean('--dry-run')).toBe(0)
  expect(program.printed().split('\n')).toEqual([
    expect.stringMatching(/^would remove hns: load balancer ipv4 6 10.112.0.20 80 /) as string,
    expect.stringMatching(/^would remove hns: endpoint 10.61.2.7 in network pod-net /) as string,
    '',
  ])
  expect(held()).toEqual(everything)
})

test('removes exactly that, and forgets it', async () => {
  const { driver, program, clean, held } = await windowsNode()
  driver.hns.remove('LoadBalancer', driver.hns.loadBalancers[1]?.id ?? '')
  expect(await clean()).toBe(0)
  expect(held()).toEqual({ balancers: [], endpoints: ['10.61.2.8', '10.61.1.5'] })
  expect(program.printed()).toMatch(/^removed hns: load balancer .*\nremoved hns: endpoint 10.61.2.7/)
  const record = await openOwnedObjects({ path: join(stateDir, 'hns-objects'), log: silentLogger })
  expect(record.list()).toEqual(['network pod-net'])
  expect(program.host.commands).toEqual([])
})

test('says what stays because somebody else uses it', async () => {
  const { program, clean, held } = await windowsNode()
  expect(await clean()).toBe(1)
  expect(held()).toEqual({ ...everything, balancers: ['10.112.0.21'] })
  expect(program.printed()).toContain('Error: ')
})

test('does not ask HNS where nothing of it is ours', async () => {
  const { program, clean, opened } = await windowsNode([])
  expect(await clean()).toBe(0)
  expect(program.printed()).toBe('Nothing to remove.\n')
  expect(opened()).toBe(0)
})

test('says who may do it', async () => {
  const { driver, clean, held } = await windowsNode()
  driver.fault({ times: 99, hresult: hresult.accessDenied })
  await expect(clean()).rejects.toThrow(/^--cleanup removed nothing: .*Access is denied.*run as Administrator/)
  expect(held()).toEqual(everything)
})

test('removes addresses of the userspace mode from the interface that it gave them to', async () => {
  const addresses = new Set(['10.112.0.20', '192.0.2.7'])
  const { exec, commands } = scriptedExec((command) => {
    const [, gone = ''] = / delete address .*address=(\S+)$/.exec(command) ?? []
    addresses.delete(gone)
    return {
      stdout: command.includes('ipv4 show') ? [...addresses].map((ip) => `    IP Address: ${ip}\n`).join('') : '',
    }
  })
  const record = await openOwnedObjects({ path: join(stateDir, 'service-addresses'), log: silentLogger })
  await record.add(['address 10.112.0.20 on vEthernet (nat)', 'address 10.112.0.99 on vEthernet (nat)'])
  const program = memoryProgram(memoryHost({ platform: 'win32', exec, clock: systemClock }))
  expect(await daemonCommand(['--cleanup', `--state-dir=${stateDir}`], program, never)).toBe(0)
  expect(program.printed()).toBe(
    'removed netsh: address 10.112.0.20 of the interface "vEthernet (nat)" ' +
      '(written down in the state directory as added by Fairlead)\n',
  )
  expect([...addresses]).toEqual(['192.0.2.7'])
  expect(commands).toContain('netsh interface ipv4 delete address name=vEthernet (nat) address=10.112.0.20')
})
