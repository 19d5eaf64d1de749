import { expect, test } from 'vitest'
import { grantedTraffic, refusedTraffic } from '../../core/routing/mode-abilities.ts'
import { MemoryIptables } from '../../dataplane/iptables/memory-iptables.ts'
import { abilitiesHere } from './abilities.ts'

const never = new AbortController().signal
const wish = (affinitySeconds: number) => ({ affinitySeconds, traffic: { algorithm: 'source-hash' } }) as const
const wishes = [wish(0), wish(10_800)]

test('source-hash is granted, with affinity too', async () => {
  const abilities = await abilitiesHere(new MemoryIptables({ family: 'ipv4' }), never)
  for (const service of wishes) {
    expect(grantedTraffic(service, { abilities, algorithm: undefined })).toEqual({ algorithm: 'source-hash' })
    expect(refusedTraffic(service, abilities)).toEqual([])
  }
})

test('a node whose kernel cannot hash addresses refuses it, says what is missing, and keeps weights', async () => {
  const abilities = await abilitiesHere(new MemoryIptables({ family: 'ipv6', missingMatches: new Set(['bpf']) }), never)
  expect(abilities.weights).toBe(true)
  for (const service of wishes) {
    expect(grantedTraffic(service, { abilities, algorithm: 'source-hash' })).toBeUndefined()
    expect(refusedTraffic(service, abilities)).toEqual([
      'fairlead.dev/algorithm: source-hash is ignored: this node cannot do it in iptables mode: its kernel or its iptables has no match "bpf"; ' +
        'add the kernel module xt_bpf and restart; it can do random',
    ])
  }
})
