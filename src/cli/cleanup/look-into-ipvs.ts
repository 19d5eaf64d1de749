/** Reads what the ipvs mode uses. A node that never had it has neither device nor sets, and is asked no further. */
import type { CleanupHost } from './cleanup-host.ts'
import { ipvsInterface, ipvsLeftovers, parseDevice, parseProxySets } from './ipvs-leftovers.ts'
import type { IpSet, IpvsDevice } from './ipvs-leftovers.ts'
import type { Findings } from './leftover.ts'
import { ToolError, runTool } from './run-tool.ts'

export async function lookIntoIpvs(
  host: CleanupHost,
  foreignRules: readonly string[],
  signal: AbortSignal,
): Promise<Findings> {
  const device = await findDevice(host, signal)
  const sets = await findSets(host, signal)
  if (device === undefined && sets.length === 0) return { leftovers: [], problems: [] }
  const { virtualServers, problems } = await findVirtualServers(host, signal)
  const found = ipvsLeftovers({ device, sets, virtualServers }, foreignRules)
  return { leftovers: found.leftovers, problems: [...problems, ...found.problems] }
}

async function findDevice({ exec }: CleanupHost, signal: AbortSignal): Promise<IpvsDevice | undefined> {
  const doing = `look at interface ${ipvsInterface}`
  const ip = (...args: readonly string[]) => runTool(exec, { program: 'ip', args, doing }, signal)
  // Asked in two steps because the "ip" of BusyBox knows no JSON; most nodes need only the first.
  const isThere = await ip('link', 'show', 'dev', ipvsInterface).then(
    () => true,
    (error: unknown) => {
      if (error instanceof ToolError) return false
      throw error
    },
  )
  return isThere ? parseDevice(await ip('-json', '-details', 'address', 'show', 'dev', ipvsInterface)) : undefined
}

async function findSets({ exec }: CleanupHost, signal: AbortSignal): Promise<readonly IpSet[]> {
  try {
    return parseProxySets(await runTool(exec, { program: 'ipset', args: ['save'], doing: 'list the IP sets' }, signal))
  } catch (error) {
    if (error instanceof ToolError && (error.reason === 'missing' || error.reason === 'unsupported')) return []
    throw error
  }
}

async function findVirtualServers(
  { exec, readText }: CleanupHost,
  signal: AbortSignal,
): Promise<{ virtualServers: string; problems: readonly string[] }> {
  try {
    const args = ['--save', '--numeric']
    const run = { program: 'ipvsadm', args, doing: 'list the virtual servers of IPVS' }
    return { virtualServers: await runTool(exec, run, signal), problems: [] }
  } catch (error) {
    if (!(error instanceof ToolError)) throw error
    if (error.reason === 'unsupported') return { virtualServers: '', problems: [] }
    if (error.reason !== 'missing') throw error
    // The kernel shows them, but only ipvsadm can remove them.
    const hasAny = /^(TCP|UDP|SCTP) /m.test(await readText('/proc/net/ip_vs'))
    return { virtualServers: '', problems: hasAny ? [missingIpvsadm] : [] }
  }
}

const missingIpvsadm = 'the kernel has IPVS virtual servers, but ipvsadm, which removes them, is missing: install it'
