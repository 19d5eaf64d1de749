import { describe, expect, test } from 'vitest'
import { silentLogger } from '../../core/logger.ts'
import type { ProxyMode } from '../../config/proxy-config.ts'
import type { PendingSync } from '../../core/sync/route-source.ts'
import { missingForNamespace, run } from '../../dataplane/netlink/testing/network-namespace.ts'
import { thisHost } from '../host/this-host.ts'
import { OtherModes } from './remove-other-modes.ts'
import {
  commands,
  eachOnFreshNode,
  kernelState,
  loadIpsetGoldens,
  loadIptablesGoldens,
  loadNftGoldens,
  neededPrograms,
} from './testing/kernel.ts'

const missing = missingForNamespace(...neededPrograms)
const where = missing === undefined ? 'in a network namespace' : `in a network namespace (skipped: ${missing})`

describe.skipIf(missing !== undefined)(`a proxy of another mode takes over ${where}`, () => {
  eachOnFreshNode()

  test('in nftables mode, all that is left is its own table', async () => {
    const fresh = kernelState()
    loadIptablesGoldens('nft')
    loadNftGoldens()
    loadIpsetGoldens()
    await takeOver('nftables')
    expect(kernelState()).toBe(fresh)

    run(`nft 'add table ip fairlead; add table ip6 fairlead; add table ip kube-proxy'`)
    await takeOver('nftables')
    expect(run('nft list tables')).toBe('table ip fairlead\ntable ip6 fairlead\n')
  })

  test('in iptables mode, rules of that mode stay and all others go', async () => {
    loadIptablesGoldens('legacy')
    const wanted = kernelState()
    loadIptablesGoldens('legacy', { mode: 'userspace-' })
    loadNftGoldens()
    loadIpsetGoldens()
    run(`nft 'add table ip fairlead'`)
    expect(kernelState()).not.toBe(wanted)
    await takeOver('iptables')
    expect(chainsOf(kernelState())).toEqual(chainsOf(wanted))
    expect(run('nft list tables; ipset list -name')).toBe('')
  })

  test('in ipvs mode, what only the iptables mode has goes', async () => {
    const loadIpvs = () => loadIptablesGoldens('legacy', { mode: 'ipvs-' })
    loadIpsetGoldens()
    loadIpvs()
    const wanted = chainsOf(kernelState())
    loadIptablesGoldens('legacy')
    // As the mode does: what both use is written anew.
    for (const command of commands) run(`${command}-legacy -t nat -F KUBE-SERVICES; ${command}-legacy -F KUBE-FORWARD`)
    loadIpvs()
    expect(chainsOf(kernelState())).not.toEqual(wanted)
    await takeOver('ipvs')
    expect(chainsOf(kernelState())).toEqual(wanted)
  })

  test('nothing is removed before every family has its rules', async () => {
    run(`nft 'add table ip kube-proxy'`)
    const otherModes = new OtherModes({ ...options, mode: 'nftables', families: 2 })
    const stop = new AbortController()
    const running = otherModes.run(stop.signal)
    const ipv4 = otherModes.afterSync()
    await ipv4.run(synced, stop.signal)
    await ipv4.run(synced, stop.signal)
    stop.abort()
    await running
    expect(run('nft list tables')).toBe('table ip kube-proxy\n')
  })
})

const options = { host: thisHost(), stateDir: '', pins: '/sys/fs/bpf/fairlead-test-nowhere', log: silentLogger }
/** Nobody looks into it. */
const synced = {} as PendingSync

async function takeOver(mode: ProxyMode): Promise<void> {
  const otherModes = new OtherModes({ ...options, mode, families: 1 })
  const { signal } = new AbortController()
  const running = otherModes.run(signal)
  await otherModes.afterSync().run(synced, signal)
  await running
}

function chainsOf(state: string): readonly string[] {
  return [...new Set(state.split('\n').filter((line) => line.startsWith(':KUBE-')))].toSorted()
}
