/** What to do where the system does not let this process have a port (EACCES). */
export function portAdvice(platform: NodeJS.Platform, protocol = 'tcp'): string {
  if (platform !== 'win32') return 'run as root or choose a port above 1023'
  // Windows has no privileged ports, but Hyper-V, WinNAT and others reserve ranges, which change with every boot.
  return (
    'Windows has reserved the port, or a process holds it for itself; choose one that ' +
    `"netsh interface ipv4 show excludedportrange protocol=${protocol.toLowerCase()}" does not list`
  )
}
