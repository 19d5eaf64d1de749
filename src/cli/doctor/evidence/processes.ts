/** Proxies among the processes that share this network. */
import type { RunningProcess } from '../../../host/processes.ts'
import type { Host } from '../../host/host.ts'
import { CannotLook } from '../evidence.ts'

export interface ProcessFacts {
  readonly all: readonly RunningProcess[]
  readonly kubeProxies: readonly RunningProcess[]
  readonly fairleads: readonly RunningProcess[]
}

/** A proxy that examines its own node is one of them; a command is none. */
export async function readProcesses(
  host: Pick<Host, 'processes' | 'process'>,
  { isProxyItself = false } = {},
): Promise<ProcessFacts> {
  const all = await host.processes().catch((error: unknown) => {
    throw new CannotLook(`/proc: ${(error as Error).message}`, 'Mount /proc.', { cause: error })
  })
  return {
    all,
    kubeProxies: all.filter(({ args }) => nameOf(args[0]) === 'kube-proxy'),
    fairleads: all.filter(({ pid, args }) => (pid === host.process.pid ? isProxyItself : isProxyDaemon(args))),
  }
}

const programName = /^fairlead(?:\.js|\.exe)?$/

/** Commands that end by themselves, or proxy nothing. */
const otherCommands =
  /^(?:debug|demo|render|doctor|explain|trace|top|help|version|--help|-h|--version|--cleanup|--init-only|--write-config-to.*)$/

/** `node …/bin/fairlead.js --proxy-mode=…`; a KPNG command programs something when it ends in `to-MODE`. */
export function isProxyDaemon(args: readonly string[]): boolean {
  const at = args.findIndex((arg) => programName.test(nameOf(arg)))
  // The program itself, or what node was given, after flags of its own; not a file that somebody edits.
  const [before = '', ...between] = args.slice(0, Math.max(0, at))
  if (at < 0 || (at > 0 && !/^node(?:\.exe)?$/.test(nameOf(before)))) return false
  if (!between.every((arg) => arg.startsWith('-'))) return false
  const rest = args.slice(at + 1)
  if (rest.some((arg) => otherCommands.test(arg))) return false
  const [first = ''] = rest
  if (first === '' || first.startsWith('-')) return true
  return /^to-(?:iptables|nft|nftables|ipvs|userspace|kernelspace|winuserspace)$/.test(rest[1] ?? '')
}

export interface DaemonFlags {
  readonly pid: number
  readonly flags: readonly string[]
}

/**
 * The flags of the only daemon. Anybody can call a process fairlead, and a flag can name a kubeconfig with a program in
 * it: so only those of users who may do as much as we.
 */
export function flagsOfDaemon({ fairleads }: Pick<ProcessFacts, 'fairleads'>): DaemonFlags | undefined {
  const [daemon, another] = fairleads.filter(({ isTrusted }) => isTrusted)
  if (daemon === undefined || another !== undefined) return undefined
  const flags = daemon.args.slice(daemon.args.findIndex((arg) => programName.test(nameOf(arg))) + 1)
  return flags[0]?.startsWith('-') === true ? { pid: daemon.pid, flags } : undefined
}

/** Itself, and what it has started, such as the native engine of the userspace mode. */
export function withChildren(pids: ReadonlySet<number>, all: readonly RunningProcess[]): ReadonlySet<number> {
  const family = new Set(pids)
  for (let isGrowing = true; isGrowing;) {
    isGrowing = false
    for (const { pid, parentPid } of all)
      if (family.has(parentPid) && !family.has(pid)) {
        family.add(pid)
        isGrowing = true
      }
  }
  return family
}

function nameOf(path = ''): string {
  return path.slice(Math.max(path.lastIndexOf('/'), path.lastIndexOf('\\')) + 1)
}
