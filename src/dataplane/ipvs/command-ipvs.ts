/** IPVS through the `ipvsadm` command, for machines where netlink does not work. */
import { hostPort } from '../../net/ip.ts'
import { controlCharacterIn } from '../control-characters.ts'
import { ExecError } from '../exec/exec.ts'
import type { Exec } from '../exec/exec.ts'
import { IpvsError, serverKey } from './ipvs.ts'
import type { Ipvs, IpvsOperation, ListedServer, ServerAddress, VirtualServer } from './ipvs.ts'
import { parseCounters, parseList, renderOperation, withConnections } from './ipvsadm-text.ts'
import { MemoryIpvs } from './memory-ipvs.ts'
import { describeOperation } from './operation-errors.ts'

/** Enough for 50,000 servers with ten real servers each. */
const maxListBytes = 128 << 20

export function commandIpvs(exec: Exec): Ipvs {
  const run = (doing: string, args: readonly string[], signal: AbortSignal, stdin?: string) =>
    runIpvsadm(exec, doing, args, signal, stdin)
  const list = async (signal: AbortSignal) => {
    const { stdout } = await run('list the virtual servers', ['-L', '-n', '--exact'], signal)
    return parseList(stdout)
  }
  const find = async (server: ServerAddress, signal: AbortSignal) => {
    const wanted = serverKey(server)
    return (await list(signal)).find((one) => serverKey(one) === wanted)
  }
  return {
    list,
    find,
    async counters(signal) {
      const { stdout } = await run('read the counters', ['-L', '-n', '--stats', '--exact'], signal)
      return withConnections(parseCounters(stdout), await list(signal))
    },
    realServers: async (server, signal) => (await find(server, signal))?.realServers ?? [],

    async apply(operations, signal) {
      signal.throwIfAborted()
      if (operations.length === 0) return new Map()
      const before = await list(signal)
      const model = await modelOf(before, await usableSchedulers(run, before, operations, signal), signal)
      const errorsByIndex = new Map(await model.apply(operations, signal))
      const acceptable = [...operations.entries()].filter(([index]) => !errorsByIndex.has(index))
      const lines = acceptable.map(([, operation]) => `${renderOperation(operation)}\n`)
      const { stderr } = await run('change the virtual servers', ['-R'], signal, lines.join(''))
      if (stderr === '') return errorsByIndex
      const [after, planned] = [contentOf(await list(signal)), contentOf(await model.list(signal))]
      for (const [index, operation] of acceptable)
        if (after.get(targetOf(operation)) !== planned.get(targetOf(operation)))
          errorsByIndex.set(index, new IpvsError('refused', `cannot ${describeOperation(operation)}: ${stderr.trim()}`))
      return errorsByIndex
    },

    async flush(signal) {
      await run('delete all virtual servers', ['-C'], signal)
    },

    async timeouts(signal) {
      const { stdout } = await run('read the timeouts of IPVS', ['-L', '-n', '--timeout'], signal)
      const [tcpSeconds = 0, tcpFinSeconds = 0, udpSeconds = 0] = (stdout.match(/\d+/g) ?? []).map(Number)
      return { tcpSeconds, tcpFinSeconds, udpSeconds }
    },

    async setTimeouts({ tcpSeconds, tcpFinSeconds, udpSeconds }, signal) {
      const seconds = [tcpSeconds, tcpFinSeconds, udpSeconds].map(String)
      await run('set the timeouts of IPVS', ['--set', ...seconds], signal)
    },
  }
}

type Run = (
  doing: string,
  args: readonly string[],
  signal: AbortSignal,
  stdin?: string,
) => Promise<{ readonly exitCode: number | null; readonly stdout: string; readonly stderr: string }>

async function runIpvsadm(
  exec: Exec,
  doing: string,
  args: readonly string[],
  signal: AbortSignal,
  stdin = '',
): ReturnType<Run> {
  const result = await exec('ipvsadm', args, { signal, stdin, maxStdoutBytes: maxListBytes }).catch(
    (cause: unknown) => {
      if (!(cause instanceof ExecError)) throw cause
      if (cause.reason !== 'not-found') throw new IpvsError('refused', cause.message, { cause })
      const wayOut = 'there is no program "ipvsadm"; install the package ipvsadm, or add its folder to PATH'
      throw new IpvsError('tool-missing', `cannot ${doing}: ${wayOut}`, { cause })
    },
  )
  const { exitCode, stderr } = result
  if (stderr.includes("Can't initialize ipvs")) {
    const wayOut = 'the kernel does not have IPVS; load the module with "modprobe ip_vs"'
    throw new IpvsError('module-missing', `cannot ${doing}: ${wayOut}`)
  }
  if (/permission denied|must be root/i.test(stderr))
    throw new IpvsError('not-permitted', `cannot ${doing}: run as root, or give the container CAP_NET_ADMIN`)
  // With input on stdin, the caller finds out which lines failed: the tool continues after them.
  if (exitCode !== 0 && stdin === '') throw new IpvsError('refused', `cannot ${doing}: ${stderr.trim()}`)
  return result
}

/**
 * The tool does not say which line failed. So the operations are tried on a model first, which knows why they fail. Where
 * the kernel differs from the model afterwards, something else went wrong.
 */
async function modelOf(
  servers: readonly ListedServer[],
  schedulers: Iterable<string>,
  signal: AbortSignal,
): Promise<MemoryIpvs> {
  const model = new MemoryIpvs(schedulers)
  const operations = servers.flatMap((server): IpvsOperation[] => [
    { kind: 'add-server', server },
    ...server.realServers.map((realServer) => ({ kind: 'add-real-server' as const, server, realServer })),
  ])
  await model.apply(operations, signal)
  return model
}

/** The address is reserved for documentation, so nobody uses it. */
const probe: Omit<VirtualServer, 'scheduler'> = {
  ip: '198.51.100.0',
  port: 20_000,
  protocol: 'TCP',
  flags: 0,
  timeoutSeconds: 0,
}

/** The schedulers that servers use, and those that the operations need and that work when tried. */
async function usableSchedulers(
  run: Run,
  servers: readonly ListedServer[],
  operations: readonly IpvsOperation[],
  signal: AbortSignal,
): Promise<ReadonlySet<string>> {
  const usable = new Set(servers.map(({ scheduler }) => scheduler))
  const wanted = new Set(operations.flatMap(({ server }) => ('scheduler' in server ? [server.scheduler] : [])))
  for (const scheduler of wanted) {
    if (typeof scheduler !== 'string' || usable.has(scheduler)) continue
    if (controlCharacterIn(scheduler) !== undefined) continue // the model refuses it
    const server = { ...probe, scheduler }
    const script = [renderOperation({ kind: 'add-server', server }), renderOperation({ kind: 'delete-server', server })]
    const { stderr } = await run('try a scheduler', ['-R'], signal, `${script.join('\n')}\n`)
    if (stderr === '') usable.add(scheduler)
  }
  return usable
}

/** The settings of each virtual and real server, as text that can be compared. */
function contentOf(servers: readonly ListedServer[]): ReadonlyMap<string, string> {
  const content = new Map<string, string>()
  for (const server of servers) {
    const { scheduler, flags, timeoutSeconds, realServers } = server
    content.set(serverKey(server), `${scheduler} ${flags} ${timeoutSeconds}`)
    for (const { ip, port, weight } of realServers)
      content.set(`${serverKey(server)} ${hostPort(ip, port)}`, String(weight))
  }
  return content
}

function targetOf(operation: IpvsOperation): string {
  const key = serverKey(operation.server)
  if (!('realServer' in operation)) return key
  return `${key} ${hostPort(operation.realServer.ip, operation.realServer.port)}`
}
