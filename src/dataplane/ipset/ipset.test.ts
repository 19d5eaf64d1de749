import { spawnSync } from 'node:child_process'
import { describe } from 'vitest'
import { processExec } from '../exec/exec.ts'
import { enterFreshNamespace, missingForNamespace, run } from '../netlink/testing/network-namespace.ts'
import { commandIpset } from './command-ipset.ts'
import { ipsetContract } from './ipset.contract.ts'
import { MemoryIpset } from './memory-ipset.ts'

ipsetContract('MemoryIpset', async () => {
  const ipset = new MemoryIpset()
  return { ipset, use: async (name) => ipset.use(name) }
})

const missing = missingForNamespace('ip', 'ipset', 'iptables') ?? ipSetProblem()
describe.skipIf(missing !== undefined)(`on the kernel${missing === undefined ? '' : ` (skipped: ${missing})`}`, () => {
  ipsetContract('commandIpset', async () => {
    enterFreshNamespace()
    return {
      ipset: commandIpset(processExec),
      use: async (name) => void run(`iptables -w -A INPUT -m set --match-set ${name} src`),
    }
  })
})

function ipSetProblem(): string | undefined {
  const tried = spawnSync('unshare', ['--net', 'ipset', 'create', 'probe', 'hash:ip,port,net'], { encoding: 'utf8' })
  return tried.status === 0 ? undefined : `the kernel has no IP sets: ${tried.stderr.trim()}`
}
