/** On a node where everything is right, the doctor finds nothing that is wrong. */
import { describe, expect, test } from 'vitest'
import { SickNode, sickNodeProblem } from './testing/sick-node.ts'

const problem = sickNodeProblem()

describe.skipIf(problem !== undefined)(`a healthy node${problem === undefined ? '' : ` (skipped: ${problem})`}`, () => {
  test.concurrent.each(['nftables', 'iptables', 'userspace'])(
    'has nothing wrong before the start and while the daemon runs in %s mode',
    async (mode) => {
      await using node = new SickNode()
      const before = await node.examine('--before-start', ...node.flags(mode))
      // Which accounting the kernel was built with is not the node's health.
      expect(before.findings.filter(({ name }) => name !== 'nfacct-missing')).toEqual([])
      expect(before.exitCode).toBe(0)
      await node.daemon(mode)
      // Without flags: it takes those of the daemon.
      const running = await node.examine()
      expect(running.findings.filter(({ severity }) => severity !== 'note')).toEqual([])
      expect(running.exitCode).toBe(0)
    },
  )
})
