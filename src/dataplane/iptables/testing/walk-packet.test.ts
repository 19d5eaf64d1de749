import { expect, test } from 'vitest'
import { endingsOf, newDestinations, parseTables } from './walk-packet.ts'
import type { Packet } from './walk-packet.ts'

const saved = `*filter
:INPUT ACCEPT [0:0]
:FORWARD ACCEPT [0:0]
-A FORWARD -d 10.64.0.9/32 -p tcp -m tcp --dport 8080 -j DROP
-A FORWARD -m conntrack ! --ctstate DNAT -m comment --comment "stays \\"where\\" it is" -j REJECT
COMMIT
*nat
:PREROUTING ACCEPT [0:0]
:MARK-IT - [0:0]
:PICK - [0:0]
:LEAVE - [0:0]
-A PREROUTING -d 10.96.0.1/32 -p tcp -m tcp --dport 80 -j PICK
-A PREROUTING -d 10.96.0.2/32 -p tcp -m tcp --dport 80 -j LEAVE
-A PREROUTING -d 10.96.0.2/32 -j DNAT --to-destination 10.64.0.3:8080
-A PREROUTING -d 10.96.0.3/32 -j DNAT --to-destination 10.64.0.9:8080
-A MARK-IT -j MARK --set-xmark 0x4000/0x4000
-A PICK ! -s 10.64.0.0/10 -j MARK-IT
-A PICK -m recent --rcheck --seconds 10 --reap --name A --mask 255.255.255.255 --rsource -j DNAT --to-destination 10.64.0.8:8080
-A PICK -m statistic --mode random --probability 0.50000000000 -j DNAT --to-destination 10.64.0.1:8080
-A PICK -m mark --mark 0x4000/0x4000 -j DNAT --to-destination 10.64.0.2:8080
-A PICK -j DNAT --to-destination 10.64.0.7:8080
-A LEAVE -j RETURN
-A LEAVE -j DNAT --to-destination 10.64.0.8:8080
COMMIT
`

function walk(packet: Partial<Packet>): readonly string[] {
  const start = { source: '198.51.100.1', destination: '10.96.0.1', port: 80, protocol: 'TCP', ...packet } as const
  const endings = endingsOf(parseTables(saved), { isLocal: () => false }, start)
  return [...newDestinations(endings), ...new Set(endings.map(({ outcome }) => outcome))]
}

test.each([
  ['goes both ways where chance decides', {}, ['10.64.0.1:8080', '10.64.0.2:8080', 'arrives']],
  ['is told apart by its source', { source: '10.64.0.5' }, ['10.64.0.1:8080', '10.64.0.7:8080', 'arrives']],
  ['comes back from a chain', { destination: '10.96.0.2' }, ['10.64.0.3:8080', 'arrives']],
  ['is dropped where it was sent to', { destination: '10.96.0.3' }, ['dropped']],
  ['is rejected where nobody sent it anywhere', { port: 81 }, ['rejected']],
] as const)('a packet %s', (_, packet, ends) => {
  expect(walk(packet)).toEqual(ends)
})

test('a rule that the walker does not know is no rule to pass over', () => {
  const tables = parseTables(saved.replace('-p tcp -m tcp --dport 80 -j PICK', '-m u32 --u32 1 -j PICK'))
  const packet = { source: '198.51.100.1', destination: '10.96.0.1', port: 80, protocol: 'TCP' } as const
  expect(() => endingsOf(tables, { isLocal: () => false }, packet)).toThrow('--u32')
})
