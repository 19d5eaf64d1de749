/** An Exec whose only program is a netsh that knows one interface. */
import { ExecError } from '../../exec/exec.ts'
import type { Exec } from '../../exec/exec.ts'

export interface NetshProgram {
  readonly exec: Exec
  /** IPv4 addresses of the interface. */
  readonly ips: Set<string>
  /** Command lines. */
  readonly commands: string[]
}

export function netshProgram(interfaceName: string): NetshProgram {
  const [ips, commands] = [new Set<string>(), [] as string[]]
  const exec: Exec = async (program, args) => {
    commands.push([program, ...args].join(' '))
    if (program !== 'netsh') throw new ExecError('not-found', `there is no program "${program}"`)
    const valueOf = (key: string) => args.find((arg) => arg.startsWith(`${key}=`))?.slice(key.length + 1) ?? ''
    const ip = valueOf('address')
    const isKnown = args[1] === 'ipv6' || valueOf('name') === interfaceName
    if (isKnown && args[2] === 'add') ips.add(ip)
    if (isKnown && args[2] === 'delete') ips.delete(ip)
    const stdout = isKnown ? [...ips].map((each) => `IP Address: ${each}\r\n`).join('') : 'Incorrect.\r\n'
    return { exitCode: isKnown ? 0 : 1, signal: null, stdout, stderr: '' }
  }
  return { exec, ips, commands }
}
