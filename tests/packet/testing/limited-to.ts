/** From linux/capability.h. */
export const capabilityBits = { NET_ADMIN: 12, NET_RAW: 13, SYS_ADMIN: 21, PERFMON: 38, BPF: 39 }

export type Capability = keyof typeof capabilityBits

/** Begins a command: what follows runs as root of a container that has these capabilities and no other. */
export function limitedTo(capabilities: readonly Capability[]): readonly string[] {
  const bounds = ['-all', ...capabilities.map((name) => `+${name.toLowerCase()}`)].join(',')
  return ['setpriv', '--pdeathsig', 'KILL', `--bounding-set=${bounds}`, '--inh-caps=-all', '--no-new-privs', '--']
}
