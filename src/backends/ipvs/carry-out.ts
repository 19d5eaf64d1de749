/**
 * Makes the kernel equal to the plan, where the two may differ. What is needed comes first and what is superfluous goes
 * last, so that no Service is out of reach in between: virtual servers with their endpoints, the addresses that lead to
 * them, the sets, the rules that ask the sets; then the end of what nobody wants. When a step fails as a whole, those
 * after it do not run.
 */
import { bindAddresses, unbindAddresses } from './write-addresses.ts'
import { writeEntries } from './write-entries.ts'
import { writeRules } from './write-rules.ts'
import { deleteServers, writeServers } from './write-servers.ts'
import type { Work } from './work.ts'

export async function carryOut(work: Work, signal: AbortSignal): Promise<void> {
  await writeServers(work, signal)
  await bindAddresses(work, signal)
  await writeEntries(work, signal)
  await writeRules(work, signal)
  // The address goes last: by it a clean-up knows whose virtual server it is, should we be killed in between.
  await deleteServers(work, signal)
  await unbindAddresses(work, signal)
  // Endpoints that have just lost their weight are deleted now, unless they have connections.
  await work.draining.sweep(signal, work.touched.servers)
}
