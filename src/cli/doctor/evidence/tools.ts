/** The tools of the kernel that are installed here, and what they say about themselves. */
import { programVersion } from '../../../dataplane/exec/program-version.ts'
import type { ProgramVersion } from '../../../dataplane/exec/program-version.ts'
import type { Host } from '../../host/host.ts'

const toolNames = [
  'nft',
  'iptables',
  'ip6tables',
  'iptables-nft',
  'iptables-legacy',
  'ipset',
  'conntrack',
  'ipvsadm',
] as const

export type ToolName = (typeof toolNames)[number]

export type ToolFacts = ReadonlyMap<ToolName, ProgramVersion>

export async function readTools({ exec }: Pick<Host, 'exec'>, signal: AbortSignal): Promise<ToolFacts> {
  const versions = toolNames.map(async (name) => [name, await programVersion(exec, name, signal)] as const)
  return new Map(await Promise.all(versions))
}
