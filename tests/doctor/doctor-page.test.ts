/** The running proxy examines its own node when its debug page is asked. */
import { describe, expect, test } from 'vitest'
import type { DoctorAnswer } from '../../src/cli/doctor/doctor-page.ts'
import type { Finding } from '../../src/cli/doctor/finding.ts'
import { node as healthyNode, service, SickNode, sickNodeProblem, slice } from './testing/sick-node.ts'

const problem = sickNodeProblem()

/** The proxy has the port of its health check itself. */
const balanced = service('web', '10.96.0.10', {
  type: 'LoadBalancer',
  externalTrafficPolicy: 'Local',
  healthCheckNodePort: 32_000,
  ports: [{ name: 'http', port: 80, nodePort: 30_080, protocol: 'TCP' }],
})

describe.skipIf(problem !== undefined)(
  `a running proxy${problem === undefined ? '' : ` (skipped: ${problem})`}`,
  () => {
    test('finds on its own node what the command finds, and rests before it looks again', async () => {
      await using node = new SickNode()
      node.objects(healthyNode, balanced, slice('web'))
      await node.daemon('nftables')
      node.run(`nft 'add table inet fw; add chain inet fw raw { type filter hook prerouting priority -300; }'
      nft 'add rule inet fw raw ip daddr 10.96.0.10 drop'`)
      const command = await node.examine()
      const first = await ask(node, '/debug/doctor')
      expect(first).toMatchObject({ node: 'node-a', mode: 'nftables', isUnderWay: false })
      // The control group of the test, with its limits, is hidden from the command only.
      const isOfNode = ({ check }: Finding) => check !== 'limits'
      expect(first.findings?.filter(isOfNode)).toEqual(command.findings.filter(isOfNode))
      expect(command.names).toEqual(['rules-drop-service'])
      const again = await ask(node, '/debug/doctor?again=1')
      expect(again.examinedAt).toBe(first.examinedAt)
      expect(again.restMs).toBeGreaterThan(0)
    })

    test('tells nobody of the rules of others on its metrics port', async () => {
      await using node = new SickNode()
      await node.daemon('nftables')
      expect(node.run(`curl -s -o /dev/null -w '%{http_code}' localhost:10249/debug/doctor`)).toBe('404')
    })
  },
)

async function ask(node: SickNode, path: string): Promise<DoctorAnswer> {
  for (;;) {
    const text = node.run(`curl -s --unix-socket ${node.folder}/debug.sock 'localhost${path}'`)
    const answer = JSON.parse(text) as DoctorAnswer
    if (!answer.isUnderWay) return answer
  }
}
