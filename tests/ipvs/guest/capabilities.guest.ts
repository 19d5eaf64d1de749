/** The privileges that the ipvs mode needs; tests/packet/capabilities.test.ts has the other modes. */
import { spawnSync } from 'node:child_process'
import { expect, test } from 'vitest'
import { fairleadProgram } from '../../packet/testing/fairlead.ts'
import { limitedTo } from '../../packet/testing/limited-to.ts'
import { Namespace } from '../../packet/testing/namespace.ts'
import { Rig } from '../../packet/testing/rig.ts'
import { givenService } from '../../packet/testing/service-fixture.ts'
import { flowsTo } from '../../packet/testing/service-faults.ts'
import { whoAnswers } from '../../packet/testing/tally.ts'
import { startFairleadIpvs } from './testing/ipvs-proxies.ts'

const needed = ['NET_ADMIN', 'NET_RAW'] as const
const web = givenService('web', 1, { type: 'NodePort', endpoints: ['here-1'] })

test('CAP_NET_ADMIN and CAP_NET_RAW are enough: packets flow', async () => {
  await using rig = await Rig.startWith((cluster) => startFairleadIpvs(cluster, {}, limitedTo(needed)), [web])
  for (const { from, to, family } of flowsTo(web)) expect(await whoAnswers(rig, from, to, family)).toBe('here-1:8080')
})

test.each(needed)('without CAP_%s the error names it', (missing) => {
  using node = Namespace.make()
  // There is something to be read, and it says that the node uses the legacy tables.
  const hint = '*mangle\n:KUBE-IPTABLES-HINT - [0:0]\nCOMMIT\n'
  node.run('iptables-legacy-restore', ['--noflush'], { input: hint })
  const [first = '', ...rest] = limitedTo(needed.filter((name) => name !== missing))
  const flags = ['--proxy-mode=ipvs', '--hostname-override=node1', '--objects=tests/goldens', '--oom-score-adj=0']
  const args = [...rest, process.execPath, fairleadProgram, ...flags]
  const { status, stderr } = node.enter(() => spawnSync(first, args, { encoding: 'utf8', timeout: 120_000 }))
  expect(stderr).toContain(`CAP_${missing}`)
  expect(status).toBe(1)
})
