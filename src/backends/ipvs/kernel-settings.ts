/** Settings of the kernel that this mode depends on, made once at start-up. They stay when the proxy ends. */
import type { Logger } from '../../core/logger.ts'
import type { Ipvs } from '../../dataplane/ipvs/ipvs.ts'
import { ensureSysctl, SysctlError } from '../../dataplane/sysctl/sysctl.ts'
import type { Sysctl } from '../../dataplane/sysctl/sysctl.ts'

export interface KernelSettings {
  /** Answers ARP only for addresses of the link that was asked, so that a node does not answer for Service addresses. */
  readonly strictArp: boolean
  readonly tcpTimeoutMs: number
  readonly tcpFinTimeoutMs: number
  readonly udpTimeoutMs: number
}

export interface KernelSettingsHost {
  /** /proc/sys */
  readonly sysctl: Sysctl
  readonly ipvs: Pick<Ipvs, 'setTimeouts'>
  readonly log: Logger
}

/** Rejects when a sysctl cannot be set: without them connections break in ways that are hard to see. */
export async function applyKernelSettings(
  settings: KernelSettings,
  host: KernelSettingsHost,
  signal: AbortSignal,
): Promise<void> {
  const sysctls = [...(await connectionSysctls(host)), ...(settings.strictArp ? arpSysctls : [])]
  for (const [path, value] of sysctls) await setSysctl(host.sysctl, path, value)
  await setTimeouts(settings, host, signal)
}

type Setting = readonly [path: string, value: string]

async function connectionSysctls(host: KernelSettingsHost): Promise<readonly Setting[]> {
  return [
    // Without it the masquerade rules match, and nothing is masqueraded.
    ['net/ipv4/vs/conntrack', '1'],
    ...(await connectionReuse(host)),
    // Connections to an endpoint that is gone end at once, instead of hanging.
    ['net/ipv4/vs/expire_nodest_conn', '1'],
    // Clients with affinity leave an endpoint that is about to go.
    ['net/ipv4/vs/expire_quiescent_template', '1'],
    ['net/ipv4/ip_forward', '1'],
  ]
}

const arpSysctls: readonly Setting[] = [
  ['net/ipv4/conf/all/arp_ignore', '1'],
  ['net/ipv4/conf/all/arp_announce', '2'],
]

/**
 * What happens when a client uses a source port again that the kernel still remembers. Until Linux 5.9 a new connection
 * then took a second longer, or with 0 could land on an endpoint that is about to go, which is the lesser evil.
 */
async function connectionReuse({ sysctl, log }: KernelSettingsHost): Promise<readonly Setting[]> {
  const release = await sysctl.read('kernel/osrelease')
  const [, major, minor] = /^(\d+)\.(\d+)/.exec(release ?? '') ?? []
  if (major === undefined || minor === undefined)
    throw new SysctlError(
      'not-found',
      `cannot read the version of the kernel from "${release ?? ''}" in /proc/sys/kernel/osrelease: mount /proc`,
    )
  const version = Number(major) * 1000 + Number(minor)
  if (version >= 5_009) return []
  if (version >= 4_001) return [['net/ipv4/vs/conn_reuse_mode', '0']]
  log.error('this kernel delays new connections from a source port that was used before: use Linux 4.1 or later', {
    release,
  })
  return []
}

async function setSysctl(sysctl: Sysctl, path: string, value: string): Promise<void> {
  try {
    await ensureSysctl(sysctl, path, value)
  } catch (error) {
    if (!(error instanceof SysctlError)) throw error
    throw new SysctlError(error.reason, `can't set sysctl ${path} to ${value}: ${error.message}`, { cause: error })
  }
}

async function setTimeouts(settings: KernelSettings, { ipvs, log }: KernelSettingsHost, signal: AbortSignal) {
  const { tcpTimeoutMs, tcpFinTimeoutMs, udpTimeoutMs } = settings
  if (tcpTimeoutMs <= 0 && tcpFinTimeoutMs <= 0 && udpTimeoutMs <= 0) return
  const timeouts = {
    tcpSeconds: Math.trunc(tcpTimeoutMs / 1000),
    tcpFinSeconds: Math.trunc(tcpFinTimeoutMs / 1000),
    udpSeconds: Math.trunc(udpTimeoutMs / 1000),
  }
  try {
    await ipvs.setTimeouts(timeouts, signal)
  } catch (error) {
    if (signal.aborted) throw error
    log.error('cannot set the timeouts of IPVS; the kernel keeps its own', { ...timeouts, error })
  }
}
