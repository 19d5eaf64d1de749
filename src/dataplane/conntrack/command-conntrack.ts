/** The connection table through the `conntrack` command, for machines where netlink does not work. */
import { setImmediate as nextTurn } from 'node:timers/promises'
import { isOpenTcpState } from '../../core/open-connections.ts'
import type { TrackedConnection } from '../../core/open-connections.ts'
import type { FlowDirection } from '../../core/sync/stale-flows.ts'
import { familyOf, hostPort, parseIp } from '../../net/ip.ts'
import { ExecError } from '../exec/exec.ts'
import type { Exec, ExecResult } from '../exec/exec.ts'
import { ConntrackError } from './conntrack.ts'
import type { Conntrack, TrackedFlow } from './conntrack.ts'
import { tcp, udp } from './flow-messages.ts'

/** Enough for about a million and a half flows. */
const maxListBytes = 256 << 20
const linesPerBatch = 1000
/** The command fails when there is nothing to delete. */
const nothingToDelete = /\b0 flow entries/
/** The command gives up when the table changes while it reads. After this many tries, what it printed is good enough. */
const maxAttempts = 5

export function commandConntrack(exec: Exec): Conntrack {
  return {
    async *dump(family, signal) {
      const args = ['-L', '-p', 'udp', '-f', family]
      for (let attempt = 1; attempt <= maxAttempts; attempt++) {
        const result = await runConntrack(exec, args, signal)
        const isInterrupted = result.stderr.includes('Interrupted system call')
        if (result.exitCode !== 0 && !isInterrupted) throw failure(args, result)
        yield* readList(result.stdout, parseFlowLine)
        if (!isInterrupted) return
      }
    },

    async *connections(family, signal) {
      const args = ['-L', '-f', family]
      for (let attempt = 1; attempt <= maxAttempts; attempt++) {
        const result = await runConntrack(exec, args, signal)
        const isInterrupted = result.stderr.includes('Interrupted system call')
        if (result.exitCode !== 0 && !isInterrupted) throw failure(args, result)
        yield* readList(result.stdout, parseConnectionLine)
        if (!isInterrupted) return
        if (attempt < maxAttempts) yield 'again'
      }
    },

    async delete(flows, signal) {
      let deleted = 0
      try {
        // Each call reads the whole table, so all flows from one service address to one endpoint are deleted by one call.
        for (const group of groupByDestination(flows)) {
          const args = deleteArgs(group[0])
          const result = await runConntrack(exec, args, signal)
          if (result.exitCode !== 0 && !nothingToDelete.test(result.stderr)) throw failure(args, result)
          deleted += group.length
        }
      } catch (error) {
        if (!(error instanceof ConntrackError)) throw error
        throw new ConntrackError(error.reason, error.message, { cause: error, deleted })
      }
      return deleted
    },
  }
}

export function parseFlowLine(line: string): TrackedFlow | undefined {
  const [, ...parts] = flowLine.exec(line) ?? []
  const original = parseDirection(parts.slice(0, 4))
  const reply = parseDirection(parts.slice(4))
  return original === undefined || reply === undefined ? undefined : { protocol: udp, original, reply }
}

/** `tcp 6 431999 ESTABLISHED src=… dst=… sport=… dport=… packets=… bytes=… src=…`: counters are there with accounting only. */
export function parseConnectionLine(line: string): TrackedConnection | undefined {
  const [, protocolText, state, ...parts] = connectionLine.exec(line) ?? []
  const original = parseDirection(parts.slice(0, 4))
  const reply = parseDirection(parts.slice(5, 9))
  const [bytesIn, bytesOut] = [parts[4], parts[9]]
  if (original === undefined || reply === undefined) return undefined
  const protocol = Number(protocolText)
  return {
    protocol,
    original,
    reply,
    isOpen: isOpenTcpState(protocol === tcp ? (state ?? 'NONE') : undefined),
    ...(bytesIn !== undefined && { bytesIn: Number(bytesIn) }),
    ...(bytesOut !== undefined && { bytesOut: Number(bytesOut) }),
  }
}

const counted = String.raw`(?: packets=\d+ bytes=(\d+))?`
const direction = String.raw`.*?src=(\S+) dst=(\S+) sport=(\d+) dport=(\d+)`
const connectionLine = new RegExp(
  String.raw`^\S+ +(\d+) \d+ (?:([A-Z_0-9]+) )?${direction}${counted}${direction}${counted}`,
)
const flowLine = new RegExp(`^udp +17 ${direction}${direction}`)

function parseDirection([source = '', destination = '', sourcePort, destinationPort]: readonly string[]):
  FlowDirection | undefined {
  const [sourceIp, destinationIp] = [parseIp(source), parseIp(destination)]
  if (sourceIp === undefined || destinationIp === undefined) return undefined
  return { sourceIp, sourcePort: Number(sourcePort), destinationIp, destinationPort: Number(destinationPort) }
}

async function* readList<T>(text: string, parse: (line: string) => T | undefined): AsyncGenerator<readonly T[]> {
  let flows: T[] = []
  let at = 0
  while (at < text.length) {
    const newline = text.indexOf('\n', at)
    const end = newline < 0 ? text.length : newline
    const flow = parse(text.slice(at, end))
    if (flow !== undefined) flows.push(flow)
    at = end + 1
    if (flows.length < linesPerBatch) continue
    yield flows
    flows = []
    await nextTurn()
  }
  if (flows.length > 0) yield flows
}

type NonEmpty<T> = readonly [T, ...T[]]

function groupByDestination(flows: readonly TrackedFlow[]): Iterable<NonEmpty<TrackedFlow>> {
  const groupsByKey = new Map<string, [TrackedFlow, ...TrackedFlow[]]>()
  for (const flow of flows) {
    const { original, reply } = flow
    const service = hostPort(original.destinationIp, original.destinationPort)
    const key = `${service} ${hostPort(reply.sourceIp, reply.sourcePort)}`
    const group = groupsByKey.get(key)
    if (group === undefined) groupsByKey.set(key, [flow])
    else group.push(flow)
  }
  return groupsByKey.values()
}

function deleteArgs({ original, reply }: TrackedFlow): string[] {
  const service = ['--orig-dst', original.destinationIp, '--orig-port-dst', String(original.destinationPort)]
  const endpoint = ['--reply-src', reply.sourceIp, '--reply-port-src', String(reply.sourcePort)]
  return ['-D', '-p', 'udp', '-f', familyOf(original.destinationIp), ...service, ...endpoint]
}

async function runConntrack(exec: Exec, args: readonly string[], signal: AbortSignal): Promise<ExecResult> {
  try {
    return await exec('conntrack', args, { signal, maxStdoutBytes: maxListBytes })
  } catch (error) {
    if (!(error instanceof ExecError)) throw error
    throw new ConntrackError(error.reason === 'not-found' ? 'tool-missing' : 'failed', error.message, { cause: error })
  }
}

function failure(args: readonly string[], { exitCode, stderr }: ExecResult): ConntrackError {
  const reason = stderr.includes('CAP_NET_ADMIN') ? 'not-permitted' : 'failed'
  return new ConntrackError(reason, `"conntrack ${args.join(' ')}" ended with ${exitCode}: ${stderr.trim()}`)
}
