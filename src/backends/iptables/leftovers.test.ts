import { expect, test } from 'vitest'
import { MemoryNfacct } from '../../dataplane/nfacct/memory-nfacct.ts'
import { findLeftovers } from './leftovers.ts'

test('a counter that a rule of others uses stays', async () => {
  const { signal } = new AbortController()
  const nfacct = new MemoryNfacct()
  for (const name of ['localhost_nps_accepted_pkts', 'ct_state_invalid_dropped_pkts']) await nfacct.ensure(name, signal)
  const foreignRules = ['-A INPUT -m nfacct --nfacct-name localhost_nps_accepted_pkts -j ACCEPT']
  const { removals, problems } = await findLeftovers({ nfacct, foreignRules }, signal)
  expect(problems).toEqual([])
  expect(removals.flatMap(({ leftovers }) => leftovers.map(({ what }) => what))).toEqual([
    'nfacct: counter ct_state_invalid_dropped_pkts',
  ])
})
