/** An iptables in memory that refuses rules with a given address. */
import type { RestoreText } from '../iptables.ts'
import { IptablesError } from '../iptables.ts'
import { MemoryIptables } from '../memory-iptables.ts'

export class RefusingIptables extends MemoryIptables {
  /** Rules with it can be deleted, but not added. */
  refusedIp: string | undefined

  override async restore(input: RestoreText, signal: AbortSignal): Promise<void> {
    const { refusedIp } = this
    const isRefused = (line: string) =>
      refusedIp !== undefined && /^-[AI] /.test(line) && line.split(/[ /]/).includes(refusedIp)
    const line = [input].flat().join('').split('\n').find(isRefused)
    if (line !== undefined) throw new IptablesError('refused', `the test refuses "${line}"`)
    await super.restore(input, signal)
  }
}
