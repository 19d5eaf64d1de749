import { expect, test } from 'vitest'
import { serverFlag } from './ipvs.ts'
import type { VirtualServer } from './ipvs.ts'
import { parseList, renderOperation } from './ipvsadm-text.ts'

// Printed by ipvsadm 1.31.
const list = `IP Virtual Server version 1.2.1 (size=4096)
Prot LocalAddress:Port Scheduler Flags
  -> RemoteAddress:Port           Forward Weight ActiveConn InActConn
TCP  10.96.0.10:80 mh (mh-port) persistent 10800
  -> 10.64.0.1:8080               Masq    1      70000      12
TCP  10.96.0.11:80 sh (sh-fallback,sh-port)
TCP  10.96.0.12:80 rr persistent 50 mask 255.255.255.0
UDP  10.96.0.11:53 rr ops
SCTP 10.96.0.11:53 wrr (flag-1,flag-3)
TCP  [fd00::10]:80 rr persistent 60
  -> [fd00:64::1]:8080            Masq    1      0          0
FWM  5 rr
  -> 10.64.0.1:80                 Masq    1      0          0
`

const { persistent, onePacket, scheduler1, scheduler2, scheduler3 } = serverFlag
const web: VirtualServer = { ip: '10.96.0.10', port: 80, protocol: 'TCP', scheduler: 'rr', flags: 0, timeoutSeconds: 0 }

test('a list is read with flags, persistence and counts', () => {
  const idle = { activeConnections: 0, inactiveConnections: 0 }
  const none = { realServers: [] }
  expect(parseList(list)).toEqual([
    {
      ...web,
      scheduler: 'mh',
      flags: persistent | scheduler2,
      timeoutSeconds: 10_800,
      realServers: [{ ip: '10.64.0.1', port: 8080, weight: 1, activeConnections: 70_000, inactiveConnections: 12 }],
    },
    { ...web, ip: '10.96.0.11', scheduler: 'sh', flags: scheduler1 | scheduler2, ...none },
    { ...web, ip: '10.96.0.12', flags: persistent, timeoutSeconds: 50, ...none },
    { ...web, ip: '10.96.0.11', port: 53, protocol: 'UDP', flags: onePacket, ...none },
    { ...web, ip: '10.96.0.11', port: 53, protocol: 'SCTP', scheduler: 'wrr', flags: scheduler1 | scheduler3, ...none },
    {
      ...web,
      ip: 'fd00::10',
      flags: persistent,
      timeoutSeconds: 60,
      realServers: [{ ip: 'fd00:64::1', port: 8080, weight: 1, ...idle }],
    },
  ])
})

test('operations are written with what the tool would otherwise choose itself', () => {
  const realServer = { ip: '10.64.0.1', port: 8080, weight: 0 }
  const sticky = { ...web, scheduler: 'mh', flags: persistent | scheduler2, timeoutSeconds: 60 }
  expect(
    [
      renderOperation({ kind: 'add-server', server: web }),
      renderOperation({ kind: 'edit-server', server: sticky }),
      renderOperation({ kind: 'delete-server', server: { ...web, protocol: 'SCTP', ip: 'fd00::10' } }),
      renderOperation({ kind: 'add-real-server', server: { ...web, protocol: 'UDP' }, realServer }),
      renderOperation({ kind: 'edit-real-server', server: web, realServer }),
      renderOperation({ kind: 'delete-real-server', server: web, realServer }),
    ].join('\n'),
  ).toBe(`-A -t 10.96.0.10:80 -s rr
-E -t 10.96.0.10:80 -s mh -p 60 -b flag-2
-D --sctp-service [fd00::10]:80
-a -u 10.96.0.10:80 -r 10.64.0.1:8080 -m -w 0
-e -t 10.96.0.10:80 -r 10.64.0.1:8080 -m -w 0
-d -t 10.96.0.10:80 -r 10.64.0.1:8080`)
})
