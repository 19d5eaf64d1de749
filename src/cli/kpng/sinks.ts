/** What can be done with the state of a cluster: the second word of the KPNG commands. */
import { nearestName } from '../../net/nearest-name.ts'
import { CommandError } from '../program.ts'

const aboutBySink: ReadonlyMap<string, string> = new Map([
  ['to-api', 'serve it to other processes and machines'],
  ['to-file', 'keep a state file up to date'],
  ['to-local', 'print what one node has to program'],
  ['to-exec', 'feed a program with JSON lines: to-exec -- PROGRAM [ARGUMENT…]'],
  ['to-module', 'run a backend written with the SDK: to-module -- MODULE'],
  ['to-nftables', 'program this node with nftables (also to-nft)'],
  ['to-ebpf', 'connect the sockets of this node to endpoints; nftables does the rest'],
  ['to-iptables', 'program this node with iptables'],
  ['to-ipvs', 'program this node with IPVS'],
  ['to-userspace', 'relay connections on this node (also to-userspacelin)'],
  ['to-winkernel', 'program this Windows node (kernelspace)'],
  ['to-winuserspace', 'relay connections on this Windows node'],
])

/** The sinks that are proxy modes, also under KPNG's names. */
const modeBySink: ReadonlyMap<string, string> = new Map([
  ['to-nftables', 'nftables'],
  ['to-nft', 'nftables'],
  ['to-ebpf', 'ebpf'],
  ['to-iptables', 'iptables'],
  ['to-ipvs', 'ipvs'],
  ['to-userspace', 'userspace'],
  ['to-userspacelin', 'userspace'],
  ['to-winkernel', 'kernelspace'],
  ['to-winuserspace', 'winuserspace'],
])

/** Sinks of KPNG that Fairlead does not have, and what to do instead. */
const missingSinks: ReadonlyMap<string, string> = new Map([
  ['to-healthchecks', 'is not needed: every mode (to-nftables, …) serves the health check node ports of Services'],
])

export const sinkNames: readonly string[] = [...aboutBySink.keys()]

export const sinkHelp: string = [...aboutBySink].map(([name, about]) => `  ${name.padEnd(17)}${about}`).join('\n')

export function modeOfSink(sink: string): string | undefined {
  return modeBySink.get(sink)
}

/** Throws when there is no such sink, and says which to use. */
export function checkSink(sink: string | undefined): asserts sink is string {
  if (sink === undefined) throw new CommandError(`name a sink, one of: ${sinkNames.join(', ')}`)
  if (aboutBySink.has(sink) || modeBySink.has(sink)) return
  const missing = missingSinks.get(sink)
  if (missing !== undefined) throw new CommandError(`${sink} ${missing}`)
  const nearest = nearestName(sink, sinkNames)
  const hint = nearest === undefined ? `choose from ${sinkNames.join(', ')}` : `did you mean ${nearest}?`
  throw new CommandError(`"${sink}" is unknown: ${hint}`)
}
