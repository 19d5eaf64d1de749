/** The whole daemon on a Windows node in memory, with real servers. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { systemClock } from '../../core/clock.ts'
import { MemoryDriver } from '../../dataplane/hcn/memory/memory-driver.ts'
import { MemoryHns } from '../../dataplane/hcn/memory/memory-hns.ts'
import { daemonCommand } from '../daemon/daemon-command.ts'
import { freePort } from '../demo/free-port.ts'
import { memoryHost, memoryProgram } from '../host/testing/memory-host.ts'

const manifests = fileURLToPath(new URL('../../../examples/manifests/cluster', import.meta.url))

let stateDir: string
beforeEach(async () => {
  stateDir = await mkdtemp(join(tmpdir(), 'fairlead-kernelspace-'))
})
afterEach(() => rm(stateDir, { recursive: true }))

test('it serves, says what it is, and leaves HNS as it is when it ends', async () => {
  const hns = new MemoryHns({ profile: '2022' })
  const network = hns.putNetwork({ name: 'pod-net' })
  for (const ip of ['10.64.1.5', '10.64.1.6']) hns.putEndpoint(network, { ips: [ip] })
  const program = memoryProgram(
    memoryHost({
      platform: 'win32',
      clock: systemClock,
      hasIpv6: () => false,
      openHcn: () => Promise.resolve(new MemoryDriver(hns)),
    }),
  )
  const [metrics, healthz] = [await freePort('127.0.0.1'), await freePort('127.0.0.1')]
  const stop = new AbortController()
  const running = daemonCommand(
    [
      `--objects=${manifests}`,
      '--hostname-override=node1',
      '--network-name=pod-net',
      `--state-dir=${stateDir}`,
      `--metrics-bind-address=127.0.0.1:${metrics}`,
      `--healthz-bind-address=127.0.0.1:${healthz}`,
    ],
    program,
    stop.signal,
  )
  try {
    await expect.poll(() => hns.loadBalancers.map(({ vip }) => vip), { timeout: 10_000 }).toContain('10.96.0.20')
    const get = async (port: number, path: string) => (await fetch(`http://127.0.0.1:${port}${path}`)).text()
    expect(await get(metrics, '/proxyMode')).toBe('kernelspace')
    await expect.poll(async () => (await fetch(`http://127.0.0.1:${healthz}/healthz`)).status).toBe(200)
    const series = await get(metrics, '/metrics')
    expect(series).toMatch(/^kubeproxy_sync_proxy_rules_duration_seconds_count\{ip_family="IPv4"\} [1-9]/m)
    expect(series).toMatch(/^kubeproxy_sync_proxy_rules_last_timestamp_seconds\{ip_family="IPv4"\} [1-9]/m)
    expect(series).not.toMatch(/iptables|nftables|conntrack/)
  } finally {
    stop.abort()
  }
  const held = hns.loadBalancers.length
  expect(await running).toBe(0)
  expect(hns.loadBalancers).toHaveLength(held)
  // Nothing of Linux was touched.
  const { commands, sysctl } = program.host
  expect([commands, sysctl.writes]).toEqual([[], []])
  expect(program.host.logged()).not.toMatch(/^E\d{4} /m)
})
