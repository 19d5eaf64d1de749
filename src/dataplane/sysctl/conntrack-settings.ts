/** Sets the size and the timeouts of the kernel's connection table at start-up. */
import type { Logger } from '../../core/logger.ts'
import { SysctlError, ensureSysctl } from './sysctl.ts'
import type { Sysctl } from './sysctl.ts'

/** `conntrack` of the configuration. Zero, or false, leaves the kernel's value alone. */
export interface ConntrackSettings {
  readonly maxPerCore: number
  readonly min: number
  readonly tcpEstablishedTimeoutMs: number
  readonly tcpCloseWaitTimeoutMs: number
  readonly tcpBeLiberal: boolean
  readonly udpTimeoutMs: number
  readonly udpStreamTimeoutMs: number
}

export interface ConntrackHost {
  /** /proc/sys */
  readonly sysctl: Sysctl
  /** /sys/module */
  readonly moduleParameters: Sysctl
  /** All logical CPUs of the machine, also those that this process may not use. */
  readonly cpus: number
  readonly log: Logger
}

interface Setting {
  /** Its name in the configuration file. */
  readonly option: keyof typeof flagByOption
  /** In /proc/sys/net/netfilter. */
  readonly file: string
  readonly value: number
}

/**
 * What stays as it is: the place where it would be written is mounted read-only, as in most containers, or is not there,
 * because the kernel has not loaded nf_conntrack.
 */
export interface UnwrittenSetting {
  readonly what: 'setting' | 'hash table'
  readonly option: Setting['option']
  readonly path: string
  readonly is: string | undefined
  readonly wanted: string
  readonly error: SysctlError
}

const flagByOption = {
  maxPerCore: '--conntrack-max-per-core=0',
  tcpEstablishedTimeout: '--conntrack-tcp-timeout-established=0s',
  tcpCloseWaitTimeout: '--conntrack-tcp-timeout-close-wait=0s',
  tcpBeLiberal: '--conntrack-tcp-be-liberal=false',
  udpTimeout: '--conntrack-udp-timeout=0s',
  udpStreamTimeout: '--conntrack-udp-timeout-stream=0s',
} as const

const hashSizeFile = 'nf_conntrack/parameters/hashsize'
const largestScaledMax = 1024 * 1024

/** Returns those that are read-only or missing; rejects at the first one that fails in another way. */
export async function applyConntrackSettings(
  settings: ConntrackSettings,
  host: ConntrackHost,
): Promise<readonly UnwrittenSetting[]> {
  const unwritten: (UnwrittenSetting | undefined)[] = []
  for (const setting of wantedConntrackSettings(settings, host.cpus)) {
    unwritten.push(await apply(setting, host))
    if (setting.option === 'maxPerCore') unwritten.push(await growHashTable(setting.value, host))
  }
  return unwritten.filter((setting) => setting !== undefined)
}

/** What the proxy writes at its start, in this order. */
export function wantedConntrackSettings(settings: ConntrackSettings, cpus: number): readonly Setting[] {
  const max = conntrackMax(settings, cpus)
  const size: readonly Setting[] = max > 0 ? [{ option: 'maxPerCore', file: 'nf_conntrack_max', value: max }] : []
  return [...size, ...timeoutsAndFlags(settings)]
}

/** 0 leaves the kernel's value. The cap applies to the value scaled by CPUs, not to the minimum, as in kube-proxy. */
function conntrackMax({ maxPerCore, min }: ConntrackSettings, cpus: number): number {
  const scaled = maxPerCore * cpus
  if (scaled === 0) return 0
  return scaled > largestScaledMax ? largestScaledMax : Math.max(scaled, min)
}

/** The kernel does not enlarge the hash table with the maximum. More than 4 entries per bucket would be slow. */
async function growHashTable(
  max: number,
  { moduleParameters, log }: ConntrackHost,
): Promise<UnwrittenSetting | undefined> {
  const text = await moduleParameters.read(hashSizeFile)
  const wanted = Math.trunc(max / 4)
  if (Number(text) >= wanted) return undefined
  const path = `/sys/module/${hashSizeFile}`
  const place = { what: 'hash table', option: 'maxPerCore', path, is: text, wanted: String(wanted) } as const
  return unlessUnwritable(place, async () => {
    if (text === undefined || !/^\d+$/.test(text))
      throw new SysctlError('not-found', `cannot read ${path}, the size of the connection hash table`)
    await moduleParameters.write(hashSizeFile, String(wanted))
    log.info('connection hash table enlarged', { was: Number(text), is: wanted })
  })
}

function timeoutsAndFlags(settings: ConntrackSettings): readonly Setting[] {
  const seconds = (option: Setting['option'], file: string, ms: number): Setting[] =>
    ms === 0 ? [] : [{ option, file, value: Math.trunc(ms / 1000) }]
  return [
    ...seconds('tcpEstablishedTimeout', 'nf_conntrack_tcp_timeout_established', settings.tcpEstablishedTimeoutMs),
    ...seconds('tcpCloseWaitTimeout', 'nf_conntrack_tcp_timeout_close_wait', settings.tcpCloseWaitTimeoutMs),
    ...(settings.tcpBeLiberal
      ? [{ option: 'tcpBeLiberal', file: 'nf_conntrack_tcp_be_liberal', value: 1 } as const]
      : []),
    ...seconds('udpTimeout', 'nf_conntrack_udp_timeout', settings.udpTimeoutMs),
    ...seconds('udpStreamTimeout', 'nf_conntrack_udp_timeout_stream', settings.udpStreamTimeoutMs),
  ]
}

async function apply(
  { option, file, value }: Setting,
  { sysctl, log }: ConntrackHost,
): Promise<UnwrittenSetting | undefined> {
  const path = `net/netfilter/${file}`
  const is = await sysctl.read(path)
  const place = { what: 'setting', option, path: `/proc/sys/${path}`, is, wanted: String(value) } as const
  return unlessUnwritable(place, async () => {
    if (await ensureSysctl(sysctl, path, String(value))) log.info('conntrack setting written', { file: path, value })
  })
}

/** Adds to an error how to avoid it: most people who get it run in a container that may not change the host. */
async function unlessUnwritable(
  place: Omit<UnwrittenSetting, 'error'>,
  change: () => Promise<void>,
): Promise<UnwrittenSetting | undefined> {
  try {
    await change()
    return undefined
  } catch (cause) {
    if (!(cause instanceof SysctlError)) throw cause
    const error = new SysctlError(cause.reason, `${cause.message}; or ${wayOut(place.option)}`, { cause })
    if (error.reason !== 'read-only' && error.reason !== 'not-found') throw error
    return { ...place, error }
  }
}

function wayOut(option: Setting['option']): string {
  return `leave the kernel's value alone with ${flagByOption[option]} (conntrack.${option} in the configuration file)`
}
